"""Watching: what changed since a baseline, and conditions that fail a cron job."""

import json
from pathlib import Path

import pytest

from compare.auditing.baseline import changes, sentence
from tests.compare.showing import EXAMPLES, equipoise

BEFORE = {
    "system": "kafka",
    "group": "g",
    "owners": {"a": [["t", "", 0], ["t", "", 1]], "b": [["t", "", 2]], "c": []},
    "idle_members": 1,
    "unowned_queues": 0,
    "double_owned_queues": 0,
    "max_over_mean": 2.0,
}


def test_newly_idle_members_moved_queues_and_worse_figures() -> None:
    after = {
        **BEFORE,
        "owners": {"a": [["t", "", 0], ["t", "", 1], ["t", "", 2]], "b": [], "d": []},
        "idle_members": 2,
        "max_over_mean": 3.0,
    }
    (change,) = changes([BEFORE], [after])
    assert change["newly_idle"] == ["b", "d"]
    assert change["moved"] == [["t", "", 2, "b", "a"]]
    assert (change["joined"], change["left"]) == (["d"], ["c"])
    assert change["worse"] == {"idle_members": [1, 2], "max_over_mean": [2.0, 3.0]}
    assert "newly idle: b, d; worse: idle members 1 -> 2" in sentence(change)
    (rebalancing,) = changes([BEFORE], [{**after, "idle_members": None}])
    assert rebalancing["newly_idle"] == []
    (back,) = changes([after], [BEFORE])
    assert back["better"] == {"idle_members": [2, 1], "max_over_mean": [3.0, 2.0]}


def test_unchanged_groups_are_left_out_new_and_gone_ones_are_told() -> None:
    assert changes([BEFORE], [BEFORE]) == []
    other = {**BEFORE, "group": "h"}
    assert [(each["group"], each["change"]) for each in changes([BEFORE], [other])] == [("h", "new"), ("g", "gone")]


def test_what_is_not_told_is_no_change() -> None:
    untold = {**BEFORE, "owners": {"a": None, "b": None, "c": None}, "idle_members": None, "max_over_mean": None}
    assert changes([BEFORE], [untold]) == []
    assert changes([untold], [{**BEFORE, "owners": untold["owners"]}]) == []


def test_a_baseline_at_the_console(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text(equipoise("audit", "--format", "json", str(EXAMPLES / "kafka")).stdout)
    same = equipoise("audit", str(EXAMPLES / "kafka"), "--baseline", str(old))
    assert "0 of 14 groups changed since the baseline." in same.stdout
    more = equipoise("audit", "--format", "json", str(EXAMPLES), "--baseline", str(old))
    assert len(json.loads(more.stdout)["changes"]) == 13


def test_a_condition_sets_the_exit_code(subtests: pytest.Subtests) -> None:
    for condition, code in [
        ("max_over_mean > 1.5", 1),
        ("jain < 0.1", 0),
        ("idle > 2", 1),
        ("max/mean > 3.5", 0),
        ("lag >= 426", 0),
        ("unowned > 0", 1),
        ("state == Empty", 1),
        ("kind == streams", 0),
    ]:
        with subtests.test(condition=condition, code=code):
            done = equipoise("audit", str(EXAMPLES), "--fail-if", condition)
            assert done.returncode == code
            assert ("failed: " in done.stderr) == bool(code)
            assert "groups keep 11 members idle" in done.stdout


def test_a_condition_that_cannot_be_is_one_line(subtests: pytest.Subtests) -> None:
    for condition in ["size > 3", "state > 3", "jain >", "jain > x", "jain ~ 3"]:
        with subtests.test(condition=condition):
            done = equipoise("audit", str(EXAMPLES), "--fail-if", condition)
            assert done.returncode == 2
            assert len(done.stderr.splitlines()) == 1


def test_a_file_that_is_no_baseline_is_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "x.json"
    for text in ("", "{}", "[]", '{"groups": [1]}', '{"groups": {}}', '{"groups": [{"system": "kafka"}]}'):
        wrong.write_text(text)
        done = equipoise("audit", str(EXAMPLES), "--baseline", str(wrong))
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert equipoise("audit", str(EXAMPLES), "--baseline", "gone.json").returncode == 2
