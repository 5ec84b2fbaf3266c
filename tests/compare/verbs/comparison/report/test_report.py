"""The comparison's report is one safe, complete, repeatable file, and small however much happens."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from compare.running import chart_data as drawing
from compare.running import player as playing
from compare.running.systems import MACHINES, machine, read
from compare.showing.comparison.page import graphs, write_comparison
from protocols.facts import Transition
from protocols.scenario.model import Scenario
from tests.compare.compared import made, ran
from tests.compare.showing import equipoise
from tests.compare.verbs.audit.report.test_report import HOSTILE, Page, payload

SCENARIOS = Path(__file__).parents[5] / "examples" / "scenarios"


def report(of: Scenario, **more: Any) -> str:
    runs, document = ran(of, with_chart_data=True, **more)
    return write_comparison([(of, runs, document)])


@cache
def page() -> str:
    return report(made())


@cache
def drawn(label: str = "kafka:range") -> dict[str, Any]:
    (variant,) = [each for each in payload(page())["scenarios"][0]["variants"] if each["label"] == label]
    return dict(variant)


def held(variant: dict[str, Any], row: int) -> list[tuple[str, float, float | None]]:
    """A row of the picture, decoded: member, from, to."""
    flat, found, end = variant["held"][row], [], 0
    for member, gap, length in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
        since = end + gap
        end = since + length
        found.append((variant["members"][member], since, None if length < 0 else end))
    return found


def test_the_page_asks_the_network_for_nothing_and_has_no_script_but_its_own() -> None:
    read = Page(page())
    asked = [attributes for _, attributes in read.elements for name in ("src", "href") if name in attributes]
    assert all((each.get("href") or "").startswith(("#", "data:")) for each in asked)
    assert "http://" not in page().replace("http://www.w3.org/2000/svg", "")
    assert [name for name, _ in read.elements].count("script") == 2


def test_story_verdict_and_figures_read_without_a_script() -> None:
    text = " ".join(Page(page().split('<script type="application/json"')[0]).texts)
    for words in (
        "a third and a fourth member join two",
        "c3 joins",
        "Leaves 2 of 4 members idle, because it allocates each topic separately",
        "marks the best value of a column",
        "fairness.idle_members = 2",
    ):
        assert words in text


def test_no_owner_is_drawn_where_records_are_given_out_one_by_one() -> None:
    shown = report(made(), systems=["kafka:range", "kafka:share", "rocketmq:POP"])
    strips = shown[shown.index('class="glance"') : shown.index("</figure>")]
    assert strips.count('<rect class="single"') == 1
    assert strips.count("so no queue has an owner") == 2


def test_messages_that_the_network_lost_are_told() -> None:
    lost = report(read(SCENARIOS / "lost-commit.yaml"))
    assert '<td>UpdateConsumerOffset, lost by the network</td><td class="n">2</td>' in lost


def test_the_picture_shows_the_timeline_of_the_document() -> None:
    runs, _ = ran(made(), systems=["kafka:range"], with_chart_data=True)
    record, variant = runs[0].record, runs[0].chart_data
    assert record
    assert variant
    for number, (topic, broker, queue) in enumerate(variant["rows"]):
        expected: list[list[Any]] = []
        for each in record["timeline"]:
            if each["queue"] != [topic, broker, queue]:
                continue
            since, until = round(each["from_s"] * 1000), each["to_s"] and round(each["to_s"] * 1000)
            if expected and expected[-1][0] == each["member"] and expected[-1][2] == since:
                expected[-1][2] = until
            else:
                expected.append([each["member"], since, until])
        assert [list(each) for each in held(variant, number)] == expected


def test_the_player_goes_from_effects_back_to_their_causes() -> None:
    player = drawn()["player"]
    texts, steps = player["texts"], player["steps"]
    times = [step[0] for step in steps]
    assert times == sorted(times)
    assert all(step[6] < at for at, step in enumerate(steps))
    joined = next(at for at, step in enumerate(steps) if texts[step[5]] == "c3 joins")
    owns = [at for at, step in enumerate(steps) if any(texts[each[1]].startswith("c1 owns") for each in step[7])]
    assert owns[0] < joined < owns[-1]
    chain = [owns[0]]
    while steps[chain[-1]][6] >= 0:
        chain.append(steps[chain[-1]][6])
    assert texts[steps[chain[-1]][5]] == "the scenario begins"
    assert {texts[steps[at][5]] for at in chain} >= {"SyncGroup", "JoinGroup"}
    assert [each[4] for each in player["rebalances"]] == ["the scenario begins", "c3 joins", "c4 joins"]


def test_every_state_and_edge_that_the_player_lights_up_is_in_a_graph() -> None:
    for label in ("kafka:range", "kafka:cooperative-sticky"):
        player = drawn(label)["player"]
        there = {(graph["machine"], edge["from"], edge["to"]) for graph in graphs("kafka") for edge in graph["edges"]}
        taken = [each for step in player["steps"] for each in step[7] if len(each) == len(Transition._fields) + 1]
        assert taken
        for _, kind, _, before, _, after in taken:
            names = [player["texts"][number] for number in (kind, before, after)]
            assert names[1] == names[2] or tuple(names) in there


@pytest.mark.parametrize("system", sorted(MACHINES))
def test_the_graphs_have_every_state_and_edge_of_the_tables(system: str) -> None:
    for graph, name in zip(graphs(system), MACHINES[system], strict=True):
        table = machine(system, name)
        assert [state["name"] for state in graph["states"]] == list(table.states)
        assert {(each["from"], each["to"]) for each in graph["edges"]} == {
            (each.before, each.after) for each in table.edges if each.before != each.after
        }


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MOST_ROWS": 3, "MOST_POINTS": 4, "MOST_TRACED": 10}.items():
        monkeypatch.setattr(drawing, name, value)
    monkeypatch.setattr(playing, "MOST_STEPS", 8)
    (run, *_), _ = ran(made(), systems=["kafka:range"], with_chart_data=True)
    assert run.chart_data
    assert len(run.chart_data["rows"]) == 3
    assert len(run.chart_data["points"]) == 4
    first, second, third = run.chart_data["remarks"]
    assert first == "The chart shows 3 of 4 queues: those with the most changes."
    assert second.startswith("The fairness line shows 4 of ")
    assert third == "The player shows only events and their effects, because the run has more than 10 messages."
    player = run.chart_data["player"]
    assert [player["texts"][step[5]] for step in player["steps"]] == ["the scenario begins", "c3 joins", "c4 joins"]


def test_names_do_no_harm(subtests: pytest.Subtests) -> None:
    for name in [name for name in HOSTILE if name.isprintable() and "{{" not in name]:
        with subtests.test(name=name):
            of = made(
                name=name,
                about=name,
                systems=[{"system": "kafka:range", "label": name}],
                topics={"T": 1},
                group={"name": "g", "members": {name: ["T"]}},
                events=[],
                run={"for": "8s"},
            )
            text = report(of)
            text.encode("utf-8")
            read = Page(text)
            assert payload(text)["scenarios"][0]["variants"][0]["members"] == [name]
            assert not {"img", "iframe"} & {element for element, _ in read.elements}
            assert not [
                attributes for _, attributes in read.elements if "onload" in attributes or "onmouseover" in attributes
            ]


def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "{name: s, topics: {T: 1}, group: {name: g, members: {c1: [T]}}, run: {for: 9s}, systems: [kafka:range]}",
        encoding="utf-8",
    )
    done = equipoise("compare", str(path), "--report", str(tmp_path / "nowhere/out.html"))
    assert done.returncode == 2
    assert "does not exist, expected a writable file" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_states_are_right_however_many_steps_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def states(player: dict[str, Any]) -> dict[tuple[str, str], str]:
        found = {}
        for at, step in enumerate(player["steps"]):
            for effect in [*player["unseen"].get(at, []), *step[7]]:
                if len(effect) == len(Transition._fields) + 1:
                    kind, whose, _, _, after = (player["texts"][number] for number in effect[1:])
                    found[kind, whose] = after
        return found

    (whole, *_), _ = ran(made(), systems=["kafka:range"], with_chart_data=True)
    monkeypatch.setattr(playing, "MOST_STEPS", 30)
    (thinned, *_), _ = ran(made(), systems=["kafka:range"], with_chart_data=True)
    assert whole.chart_data
    assert thinned.chart_data
    last = thinned.chart_data["player"]["steps"][-1][0]
    until = [step for step in whole.chart_data["player"]["steps"] if step[0] <= last]
    assert states(thinned.chart_data["player"]) == states({**whole.chart_data["player"], "steps": until})


def test_a_process_that_was_killed_is_in_no_state() -> None:
    of = made(events=[{"at": "20s", "crash": "c2"}], systems=["kafka:range"])
    (run,), _ = ran(of, with_chart_data=True)
    assert run.chart_data
    player = run.chart_data["player"]
    (crash,) = [step for step in player["steps"] if player["texts"][step[5]] == "c2 crashes"]
    assert [player["nodes"][each[0]] for each in crash[7] if len(each) == 1] == ["c2"]
