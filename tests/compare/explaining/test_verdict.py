"""The verdict: plain sentences, each with the figures it rests on; and what changed since a baseline."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from compare.explaining.side_by_side import side_by_side
from compare.explaining.verdict import verdict
from compare.running.baseline import changes, documents_of, sentence
from compare.running.spread import figure
from compare.verbs.options import read_baseline
from protocols import UserError
from tests.compare.compared import made, ran
from tests.compare.showing import equipoise

SYSTEMS = ("kafka:range", "kafka:cooperative-sticky", "kafka-zookeeper:roundrobin", "rocketmq:CONSISTENT_HASH")


@cache
def document() -> dict[str, Any]:
    return ran(made(run={"for": "60s", "seed": 1}), systems=SYSTEMS)[1]


def told(label: str | None) -> list[str]:
    return [each["sentence"] for each in document()["verdict"] if each["label"] == label]


def test_every_figure_behind_a_sentence_is_in_the_record() -> None:
    records = {each["label"]: each for each in document()["variants"]}
    assert document()["verdict"]
    for each in document()["verdict"]:
        rests = each["figures"] if each["label"] is None else {each["label"]: each["figures"]}
        assert rests
        for label, figures in rests.items():
            assert figures
            for path, value in figures.items():
                assert figure(records[label], path) == value, (label, path)


def test_idle_members_are_told_of_with_the_reason() -> None:
    assert (
        "Kafka range leaves 2 of 4 members idle, because it allocates each topic separately, starting with the first"
        " member, and no topic has more than 2 partitions."
    ) in told("kafka:range")
    assert "Kafka cooperative-sticky ends as fair as possible: 4 members, 1 partition each." in told(
        "kafka:cooperative-sticky"
    )


@pytest.mark.parametrize(
    ("least", "said"),
    [(1, "1 to 4 partitions per member where 2 to 4"), (2, "a Jain index of 0.910 where 0.960")],
)
def test_a_group_is_fair_only_if_its_index_is_the_best_possible(least: int, said: str) -> None:
    record = copy.deepcopy(document()["variants"][0])
    record["fairness"] |= {"max": 4, "min": least, "jain": 0.91, "idle_members": 0}
    record["optimum"] |= {"max": 4, "min": 2, "jain": 0.96, "idle_members": 0}
    assert any(f"ends uneven: {said} would be possible" in each.text for each in verdict(record))


def test_a_pause_at_every_join_is_told_of_with_its_length() -> None:
    (pause,) = [each for each in told("kafka:range") if "pauses" in each]
    longest = next(each for each in document()["variants"] if each["label"] == "kafka:range")["longest_gap_s"]
    assert pause.startswith("Kafka range pauses all 4 partitions at each join, for up to ")
    assert (f"{longest:.3g} s" if longest >= 1 else f"{longest * 1000:.3g} ms") in pause


def test_a_wait_for_a_session_is_told_of() -> None:
    of = made(events=[{"at": "20s", "crash": "c2"}], systems=["kafka:sticky"])
    sentences = [each["sentence"] for each in ran(of)[1]["verdict"]]
    (gap,) = [each for each in sentences if "without an owner" in each]
    assert "after c2 crashes, because the next rebalance begins only 4" in gap
    assert any("and drains it in" in each for each in sentences)


def test_an_autoscaler_that_goes_up_and_down_is_not_told_as_if_it_went_once() -> None:
    record = copy.deepcopy(document()["variants"][0])
    steps = [(2, 6), (6, 12), (12, 2), (2, 8), (8, 3)]
    record["scale"] = [
        {"at_s": 60.0 * at, "group": "g", "lag": 100, "from": before, "to": after}
        for at, (before, after) in enumerate(steps, 1)
    ]
    (told,) = [each.text for each in verdict(record) if "scaled" in each.text]
    assert "is scaled up twice and down twice by 5 min, between 2 and 12 members: the autoscaler of g sees" in told


def test_who_does_not_settle_is_not_called_uneven_where_nobody_could_be_more_even() -> None:
    records = copy.deepcopy(document()["variants"])
    for each in records:
        each["fairness"]["jain"] = each["optimum"]["jain"] = 0.89
    for each in records[1:]:
        each["harm"]["settled"] = False
    (told,) = [each.text for each, _ in side_by_side(records, {}) if "as fair as" in each.text]
    assert "least even" not in told
    assert "not settle" in told


def test_a_group_that_owns_nothing_is_no_fair_one() -> None:
    record = copy.deepcopy(document()["variants"][0])
    record["fairness"] |= {"max": 0, "min": 0, "jain": 1.0, "idle_members": 4}
    assert "Kafka range ends without an owner for any partition." in [each.text for each in verdict(record)]


def test_a_group_that_has_died_is_not_passed_over_by_how_fair_the_others_are() -> None:
    record = copy.deepcopy(document()["variants"][1])
    dead = {"kind": "no owner", "text": "group h has no members", "setting": "number of members"}
    record["harm"]["because"]["unowned"] = [dead | {"mechanism": "", "event": "d1 crashes"}]
    (told,) = [each.text for each in verdict(record) if "as fair as possible" in each.text]
    among = "in the groups that have members: 4 members, 1 partition each, but group h has no members."
    assert told == f"Kafka cooperative-sticky ends as fair as possible {among}"
    assert not any("as fair as" in each.text for each, _ in side_by_side([record, *document()["variants"][:1]], {}))


def test_the_baseline_tells_what_is_better_and_what_is_worse() -> None:
    old, new = document(), copy.deepcopy(document())
    assert changes([old], new) == []
    first = new["variants"][0]
    first["moves"] += 3
    first["fairness"]["jain"] = 0.9
    first["messages"]["Heartbeat"] += 5
    first["owners"]["c3"] = [first["owners"]["c1"].pop(0)]
    new["variants"][1]["label"] = "another"
    changed, fresh, gone = changes([old], new)
    assert changed["worse"] == {
        "moves": [0, 3],
        "messages": [figure(old["variants"][0], "messages")] * 1 + [figure(old["variants"][0], "messages") + 5],
    }
    assert changed["better"] == {"fairness.jain": [0.5, 0.9]}
    assert changed["moved"] == [["X", "", 0, "c1", "c3"]]
    assert list(changed["messages"]) == ["Heartbeat"]
    assert (fresh["label"], fresh["change"]) == ("another", "new")
    assert (gone["label"], gone["change"]) == ("kafka:cooperative-sticky", "gone")
    assert sentence(changed).startswith("kafka:range, seed 1: worse: moves 0 -> 3, messages ")
    assert sentence(gone) == "kafka:cooperative-sticky, seed 1: no longer exists"


def test_a_baseline_goes_through_the_command(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    text = "{name: s, topics: {T: 3}, group: {name: g, members: {c1: [T], c2: [T]}}, run: {for: 20s},"
    path.write_text(text + " systems: [kafka:range]}", encoding="utf-8")
    old = tmp_path / "old.json"
    old.write_text(equipoise("compare", str(path), "--format", "json").stdout, encoding="utf-8")
    same = equipoise("compare", str(path), "--baseline", str(old))
    assert "Nothing changed since the baseline." in same.stdout
    path.write_text(text + " systems: [kafka:range, kafka:sticky]}", encoding="utf-8")
    more = json.loads(equipoise("compare", str(path), "--baseline", str(old), "--format", "json").stdout)
    assert [(each["label"], each["change"]) for each in more["changes"]] == [("kafka:sticky", "new")]


def test_what_is_no_baseline_is_refused_in_one_line(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for text in ["", "{}", "[]", '{"scenario": "s"}', '{"scenario": "s", "variants": [1]}', '{"scenarios": {}}']:
        with subtests.test(text=text):
            path = tmp_path / "old.json"
            path.write_text(text, encoding="utf-8")
            with pytest.raises(UserError, match="expected a file that `equipoise compare --format json` wrote"):
                read_baseline(path, "compare", documents_of)
