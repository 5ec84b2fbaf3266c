"""The report of logs is one safe, complete, repeatable file, and small however much happened."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.logs.analysis import analysed
from compare.logs.broker_events import Preparing
from compare.logs.document import document
from compare.logs.events import Place, Stream
from compare.logs.lines import LogFile, log_files
from compare.logs.model import Cause, Departure, GroupLog, Rebalance
from compare.logs.presence import lines_of
from compare.logs.reading import Sources, read
from compare.showing.logs.page import write_night
from tests.compare.logs.scoring import INCIDENTS, logs_of, truth_of
from tests.compare.verbs.audit.report.test_report import HOSTILE, Page, payload

AT, TOOK, GENERATION, CAUSE, WHO, WAITED, TEXT, PAUSE = range(8)


def written(paths: list[Path], group: str | None = None) -> str:
    files = log_files([str(path) for path in paths])
    kept: dict[tuple[str, int], str] = {}
    sources = read(files, {}, kept)
    logs = analysed(sources.streams, group)
    return write_night(logs, document(logs, sources), files, kept)


@cache
def page(name: str = "rebalance-storm-41") -> str:
    return written(logs_of(name, "both"), truth_of(name)["group"])


def only_group(text: str) -> dict[str, Any]:
    (group,) = payload(text)["groups"]
    return dict(group)


def test_every_rebalance_is_a_bar_with_its_cause_and_its_member() -> None:
    data, group = payload(page()), only_group(page())
    assert len(group["bars"]) == 11
    causes = [data["causes"][bar[CAUSE]] for bar in group["bars"]]
    assert causes[1:3] == ["poll_interval_exceeded", "member_rejoined_after_poll_timeout"]
    assert {group["lanes"][lane] for bar in group["bars"][1:] for lane in bar[WHO]} == {"billing-2"}
    assert [bar[GENERATION] for bar in group["bars"]] == list(range(1, 12))
    assert (
        group["texts"][group["bars"][1][TEXT]]
        == "billing-2 left, because a batch took longer than max.poll.interval.ms"
    )


def test_who_is_out_and_who_pauses_is_in_the_lanes() -> None:
    """Five times billing-2 is out of the group, some seconds each; nobody else ever is."""
    group = only_group(page())
    stays = {name: [each for each in group["there"] if group["lanes"][each[0]] == name] for name in group["lanes"]}
    assert [len(stays[name]) for name in ("billing-1", "billing-2", "billing-3")] == [1, 6, 1]
    gaps = [b[1] - a[1] - a[2] for a, b in zip(stays["billing-2"], stays["billing-2"][1:], strict=False)]
    assert all(1000 < gap < 6000 for gap in gaps)
    assert {group["lanes"][lane] for lane, _, _ in group["paused"]} == set(group["lanes"])


def test_whom_everybody_waited_for_has_a_ring() -> None:
    group = only_group(page("slow-rejoin-41"))
    assert [[group["lanes"][lane] for lane in bar[WAITED]] for bar in group["bars"]] == [[], ["print-2"]]
    assert any(group["lanes"][lane] == "print-1" and length > 8000 for lane, _, length in group["paused"])


def test_every_bar_comes_with_its_lines_word_for_word(subtests: pytest.Subtests) -> None:
    for name in ["rebalance-storm-41", "storm-28", "rmq-crash", "kip848-41", "twin-41"]:
        with subtests.test(name=name):
            group = only_group(page(name))
            texts = {path.name: path.read_text(encoding="utf-8").split("\n") for path in logs_of(name, "both")}
            assert set(group["lines"]) == {str(place) for place in range(len(group["bars"]))}
            for lines in group["lines"].values():
                assert lines
                for file, number, text in lines:
                    assert text.removesuffix("…") in texts[file][number - 1]


def test_pauses_of_rocketmq_are_those_of_the_recorder(subtests: pytest.Subtests) -> None:
    """The recorder polled the clients' own tables of queues every 50 ms."""
    for name in ["rmq-frozen-short", "rmq-clean-leave", "rmq-join", "rmq-crash"]:
        with subtests.test(name=name):
            group = only_group(page(name))
            truth = [
                each["ms"] for each in truth_of(name)["queues_without_owner"] if not each["queue"].startswith("%RETRY%")
            ]
            told = max((length for _, _, length in group["paused"]), default=0)
            assert abs(told - max(truth, default=0)) < 400


def test_causes_and_remedies_are_read_without_a_script() -> None:
    text = " ".join(" ".join(Page(page()).texts).split())
    assert "Kafka group billing-worker: 11 rebalances" in text
    assert "5 of 11 poll_interval_exceeded billing-2" in text
    assert "Set max.poll.interval.ms to 14000 (the longest batch took 9." in text
    assert "broker.log:63" in text


def test_the_page_asks_the_network_for_nothing_and_has_no_script_but_its_own() -> None:
    read_page = Page(page())
    asked = [attributes for _, attributes in read_page.elements for name in ("src", "href") if name in attributes]
    assert all((each.get("href") or "").startswith(("#", "data:")) for each in asked)
    assert "http://" not in page().replace("http://www.w3.org/2000/svg", "")
    assert [name for name, _ in read_page.elements].count("script") == 2


def test_equal_logs_give_equal_text() -> None:
    assert written(logs_of("rmq-crash", "both")) == written(logs_of("rmq-crash", "both"))


LEAVING = (
    "[2026-11-22 01:38:15,123] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state PreparingRebalance"
    " with old generation 4 (__consumer_offsets-3) (reason: Removing member w-00000000-1111-2222-3333-444444444444 on"
    " LeaveGroup; client reason: {reason}) (kafka.coordinator.group.GroupCoordinator)\n"
    "[2026-11-22 01:38:16,123] INFO [GroupCoordinator 1]: Stabilized group g generation 5 (__consumer_offsets-3)"
    " with 2 members (kafka.coordinator.group.GroupCoordinator)\n"
)


def test_hostile_lines_do_no_harm(subtests: pytest.Subtests, tmp_path: Path) -> None:
    """What a client may choose (its client id, the reason it gives) stands in broker's lines as it is."""
    for name in HOSTILE:
        with subtests.test(name=name):
            line = name.replace("\n", " ")
            path = tmp_path / "broker.log"
            path.write_bytes(LEAVING.replace("{reason}", line).encode("utf-8", "surrogatepass"))
            text = written([path])
            elements = Page(text).elements
            assert [tag for tag, _ in elements].count("script") == 2
            assert not [
                tag for tag, attributes in elements if tag == "img" or any(each.startswith("on") for each in attributes)
            ]
            assert not any(character in text for character in "\u202e\u2066\u2069\x00\x1b\u2028")
            text.encode("utf-8")


def big(rebalances: int, members: int) -> GroupLog:
    """A long night: one member after another is too slow and comes back, and all others pause each time."""
    stream = Stream("broker.log", None, files=["broker.log"], offset=0.0, how="states its zone", role="broker")
    ids = [f"w{number}-{number:08x}-1111-2222-3333-{number:012x}" for number in range(members)]
    found: list[Rebalance] = []
    for number in range(rebalances):
        at = 1_790_000_000.0 + 4 * number
        member, back = ids[number // 2 % members], number % 2
        place = Place(stream, "broker.log", number + 1, number + 1, at=at)
        line = Preparing(place=place, group="big", generation=number + 1, reason="")
        name = "member_rejoined_after_poll_timeout" if back else "poll_interval_exceeded"
        found.append(
            Rebalance(
                group="big",
                generation=number + 1,
                begun=at,
                stabilized=at + 1.5,
                events=(line,),
                first=at,
                causes=(Cause(name, (member,), (line,)),),
                after=tuple(ids),
                pauses=dict.fromkeys(ids, (at, at + 1.5)),
                joined={member: at} if back else {},
                departures=() if back else (Departure(member, at, "poll", (line,)),),
            )
        )
    names = {name: name.partition("-")[0] for name in ids}
    return GroupLog("kafka", "big", "plain", [each.events[0] for each in found], found, names=names)


def test_a_big_night_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out is said; the bars are all there."""
    monkeypatch.setattr("compare.showing.logs.night.MOST_PAUSES", 1000)
    monkeypatch.setattr("compare.showing.logs.night.MOST_LINES", 100)
    log = big(500, 220)
    files = [LogFile("broker.log", "broker.log", None)]
    text = write_night([log], document([log], Sources(files, [])), files, {("broker.log", 1): "x" * 10_000})
    group = only_group(text)
    assert len(group["bars"]) == 500
    assert (len(group["lanes"]), group["others"]) == (200, 20)
    assert (len(group["paused"]), group["pauses_left_out"]) == (1000, 500 * 200 - 1000)
    assert len(group["lines"]) == 100
    assert "The lines of 100 of the 500 bars are in this page" in text
    assert "The 300 longest rebalances of 500 as a table" in text
    assert len(text) < 400_000


def test_lines_are_found_by_their_numbers_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"line {number}\n" for number in range(1, 500)) + "the end", encoding="utf-8")
    monkeypatch.setattr("compare.logs.lines.BLOCK", 64)
    wanted = [("a.log", number) for number in (1, 2, 77, 499, 500, 501)]
    found = lines_of([LogFile("a.log", "a.log", path)], wanted)
    assert found == {("a.log", n): f"line {n}" for n in (1, 2, 77, 499)} | {("a.log", 500): "the end"}


def test_the_command_writes_it(tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    told = CliRunner().invoke(cli, ["logs", str(INCIDENTS / "twin-41"), "--report", str(out), "--format", "json"])
    assert told.exit_code == 0
    assert "Kafka group" in out.read_text(encoding="utf-8")


def test_the_lines_of_standard_input_are_in_it(tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    text = (INCIDENTS / "twin-41" / "broker.log").read_text(encoding="utf-8")
    assert CliRunner().invoke(cli, ["logs", "-", "--report", str(out)], input=text).exit_code == 0
    quoted = [line for group in payload(out.read_text(encoding="utf-8"))["groups"] for line in group["lines"]["0"]]
    assert quoted
    assert all(file == "-" and words for file, _, words in quoted)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    out = tmp_path / "no" / "out.html"
    told = CliRunner().invoke(cli, ["logs", str(INCIDENTS / "twin-41"), "--report", str(out)])
    assert "expected a writable file" in str(told.exception)
