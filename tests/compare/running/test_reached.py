"""How far a run is that is under way can be seen from outside, and looking changes nothing."""

import io
import sys
import weakref
from threading import Event

import pytest

from compare.running import reached as module
from compare.running.reached import Reached
from compare.running.runs import RunOrder, run_all
from compare.running.variants import variants_of
from compare.showing import console
from tests.compare.compared import made


def test_the_shares_of_runs_under_way_are_seen_and_forgotten_when_their_results_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOOKS_EVERY_S", 0.001)
    reached = Reached(2)
    with reached.following(1) as begins:
        begins(lambda: 1.0)
        begins(lambda: 0.25)
        while reached.runs != 1.25:
            Event().wait(0.001)
    reached.is_done(1)
    assert reached.runs == 0


def test_what_a_run_leaves_behind_goes_with_the_beginning_of_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKS_EVERY_S", 60.0)
    held = [lambda: 1.0]
    first = weakref.ref(held[0])
    with Reached(1).following(0) as begins:
        begins(held.pop())
        assert first() is not None
        begins(lambda: 0.25)
        assert first() is None


def test_a_run_that_is_watched_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKS_EVERY_S", 0.0001)
    orders = [RunOrder(variant, whole=True) for variant in variants_of(made(systems=["kafka:range", "rocketmq:AVG"]))]
    alone = [run.record for run in run_all(orders, lambda run: None, 1)]
    for processes in (1, 2):
        reached = Reached(len(orders))
        assert [run.record for run in run_all(orders, lambda run: None, processes, reached)] == alone
        assert reached.runs == 0


def test_a_single_run_tells_its_time_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    told, lines = Event(), []
    monkeypatch.setattr(console, "QUIET_S", 0.0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(console.click, "echo", lambda line, err: (lines.append(line), told.set()))
    with console.run_progress(1, lambda: 0.25):
        assert told.wait(60)
    assert lines[0].startswith("0 of 1 runs, 25 % of the time simulated, ")
    assert lines[0].endswith(" left")
