"""Start times and event times of a seed: everything keeps its order, its length and its company."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocols.scenario.jitter import (
    MOST_EVENT_SHIFT,
    MOST_START_SHIFT,
    Beginning,
    event_windows,
    shifted,
    start_window,
)
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario
from protocols.scenario.topology import MemberKey
from tests.rows import rows

END = 300


def made(*events: dict[str, Any], seconds: float = END, **more: Any) -> Scenario:
    fields: dict[str, Any] = {
        "name": "shifted",
        "topics": {"orders": 4},
        "group": {"name": "g", "members": {"c1..c9": ["orders"]}},
        "run": {"for": f"{seconds}s"},
        "events": list(events),
    }
    return scenario(fields | more)


def times(of: Scenario) -> list[float]:
    return [event.at for event in of.events]


def moments(of: Scenario) -> list[float]:
    """Everything at which something begins or ends, in the order of the events."""
    return [time for event in of.events for time in (event.at, event.at + event.lasts())]


AT = st.integers(0, END).map(lambda second: f"{second}s")


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    events: list[dict[str, Any]] = []
    for member in draw(st.lists(st.sampled_from([f"c{number}" for number in range(1, 10)]), unique=True)):
        kind = draw(st.sampled_from(["hang", "stop_polling", "crash", "leave"]))
        lasting = {"for": f"{draw(st.integers(1, END))}s"} if kind in ("hang", "stop_polling") else {}
        events.append({"at": draw(AT), kind: member, **lasting})
    for at in draw(st.lists(AT, max_size=6)):
        events.append({"at": at, "produce": {"orders": 5}})
    for at in draw(st.lists(AT, max_size=3)):
        lasting = {"for": f"{draw(st.integers(1, END))}s"}
        events.append({"at": at, "network": "cut", "between": ["c1", "broker-a"], **lasting})
    for second in draw(st.lists(st.integers(0, END), max_size=2)):
        to = draw(st.integers(0, second))
        events.append({"at": f"{second}s", "reset_offsets": "g", "topic": "orders", "to": f"{to}s"})
    return made(*draw(st.permutations(events)))


@given(scenarios(), st.integers(0, 2**40))
def test_order_company_and_lengths_stay(written: Scenario, seed: int) -> None:
    lived = shifted(written, seed)
    assert [event.model_copy(update={"at": 0.0}) for event in lived.events] == [
        event.model_copy(update={"at": 0.0}) for event in written.events
    ]
    order = sorted(zip(moments(written), moments(lived), strict=True))
    within = [pair for pair in order if pair[0] <= written.run.for_]
    for (before, before_lived), (after, after_lived) in pairwise(within):
        if before == after:
            assert before_lived == after_lived
        else:
            assert before_lived < after_lived
            assert after_lived - before_lived >= (after - before) / 2
    assert all(lived_at <= written.run.for_ for _, lived_at in within)


@given(scenarios(), st.integers(0, 2**40))
def test_nothing_is_early_or_later_than_it_may_be(written: Scenario, seed: int) -> None:
    lived = shifted(written, seed)
    most = max(event_windows(written).values())
    for before, after in zip(times(written), times(lived), strict=True):
        assert 0 <= after - before <= most <= MOST_EVENT_SHIFT
        assert after.is_integer()
        if before in (0.0, written.run.for_):
            assert after == before
    referred = [time for event in written.events for time in event.refers_to()]
    for time in referred:
        assert [at < time for at in times(lived)] == [at < time for at in times(written)]


@given(scenarios(), st.integers(0, 2**40))
def test_members_start_before_the_first_event(written: Scenario, seed: int) -> None:
    starts = Beginning.of(written, seed).starts
    first = min((at for at in times(written) if at > 0), default=written.run.for_)
    assert all(0 <= start <= start_window(written) <= first / 2 for start in starts.values())
    assert start_window(written) <= MOST_START_SHIFT


def test_seeds_cover_the_interval() -> None:
    written = made({"at": "60s", "crash": "c1"})
    found = [times(shifted(written, seed))[0] for seed in range(200)]
    assert min(found) < 62_000
    assert max(found) > 88_000
    started = [Beginning.of(written, seed).starts[MemberKey("g", "c1")] for seed in range(200)]
    assert min(started) < 300
    assert max(started) > 4_700
    assert len(set(Beginning.of(written, 1).starts.values())) == 9


@rows(
    ("events", "windows"),
    [
        ([(60, {"crash": "c1"})], [30]),
        ([(60, {"crash": "c1"}), (80, {"crash": "c2"})], [10, 30]),
        ([(60, {"crash": "c1"}), (60, {"crash": "c2"})], [30, 30]),
        ([(0, {"crash": "c1"}), (290, {"crash": "c2"})], [0, 5]),
        ([(60, {"hang": "c1", "for": "40s"}), (110, {"crash": "c2"})], [5, 30]),
        ([(60, {"hang": "c1", "for": "40s"}), (100, {"crash": "c2"})], [30, 30]),
        ([(60, {"hang": "c1", "for": "40s"}), (90, {"crash": "c2"})], [15, 5]),
        ([(60, {"hang": "c1", "for": "238s"})], [1]),
        ([(60, {"hang": "c1", "for": "500s"})], [30]),
        ([(60, {"produce": {"orders": 1}}), (70, {"reset_offsets": "g", "topic": "orders", "to": "64s"})], [2, 30]),
        ([(60, {"produce": {"orders": 1}}), (70, {"reset_offsets": "g", "topic": "orders", "to": "60s"})], [0, 30]),
    ],
)
def test_how_far_an_event_may_be_shifted(events: Sequence[tuple[int, dict[str, Any]]], windows: list[int]) -> None:
    written = made(*({"at": f"{at}s", **event} for at, event in events))
    latest = [0.0] * len(windows)
    for seed in range(400):
        shifts = [after - before for before, after in zip(times(written), times(shifted(written, seed)), strict=True)]
        latest = [max(one, other) for one, other in zip(latest, shifts, strict=True)]
    for found, window in zip(latest, windows, strict=True):
        assert window * 950 <= found <= window * 1000


def test_members_of_one_process_start_together() -> None:
    members = {"c1": {"subscribe": ["orders"], "process": "p"}, "c2": {"subscribe": ["orders"], "process": "p"}}
    apart = {"c3": {"subscribe": ["orders"], "process": "q"}}
    starts = Beginning.of(made(group={"name": "g", "members": {**members, **apart}}), 5).starts
    assert starts[MemberKey("g", "c1")] == starts[MemberKey("g", "c2")] != starts[MemberKey("g", "c3")]


def test_members_struck_at_0s_are_there_by_then() -> None:
    starts = Beginning.of(made({"at": "0s", "crash": "c1"}, {"at": "4s", "crash": "c2"}), 1).starts
    assert MemberKey("g", "c1") not in starts
    assert 0 < max(starts.values()) <= 2_000
