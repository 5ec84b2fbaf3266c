"""Reading that is passed over in quiet times ends as it would have ended."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.fast_forward.contract import Flow, Stretch
from protocols.engine.fast_forward.driver import FastForward
from protocols.engine.simulation import Simulation
from protocols.facts import Delivered
from protocols.load import Production
from tests.protocols.engine.readers import ADAPTERS, QUEUE, Ask, Found, Rate, Reader, Store
from tests.protocols.happenings import Facts
from tests.rows import rows


class Read:
    """Readers that read so many records per second, what each handled and the store knew of it."""

    def __init__(
        self,
        per_second: float,
        handle: float,
        until: float,
        *,
        full: bool,
        readers: int = 1,
        happens: Callable[[Simulation], None] = lambda simulation: None,
    ) -> None:
        self.facts = Facts()
        self.simulation = Simulation(seed=1, observer=self.facts)
        if not full:
            FastForward(self.simulation, ADAPTERS)
        self.store = Store(per_second)
        self.simulation.start("store", self.store)
        self.readers = [Reader(f"reader-{number}", handle) for number in range(readers)]
        for reader in self.readers:
            self.simulation.start(reader.name, reader)
        happens(self.simulation)
        self.simulation.run(until)

    def handled(self, name: str = "reader-0") -> list[tuple[int, int]]:
        return [(fact.first, fact.end) for _, _, fact, _ in self.facts.told if fact[1] == name]

    def ends(self) -> list[int]:
        return [reader.handled for reader in self.readers]


@given(
    st.sampled_from([0.3, 1.0, 1.9, 2.5, 7.0, 20.0, 60.0, 150.0, 400.0, 3000.0]),
    st.sampled_from([0.0, 2.0, 30.0]),
    st.integers(3_000, 60_000),
    st.integers(1, 3),
)
def test_the_same_records_are_handled_once_and_in_order(
    per_second: float, handle: float, until: int, readers: int
) -> None:
    quick, full = (Read(per_second, handle, float(until), full=full, readers=readers) for full in (False, True))
    for reader in quick.readers:
        ranges = quick.handled(reader.name)
        assert all(one[1] == other[0] for one, other in pairwise(ranges))
    # Latencies are means where they are not drawn: what is under way at the end may differ by what comes in meanwhile.
    slack = per_second * 10 / 1000 + 1
    assert quick.ends() == pytest.approx(full.ends(), abs=slack)
    slack += per_second * (10 + handle) / 1000
    assert list(quick.store.told.values()) == pytest.approx(list(full.store.told.values()), abs=slack)
    counts = [sum(each.simulation.messages.values()) for each in (quick, full)]
    assert counts[0] == pytest.approx(counts[1], rel=0.1, abs=4)


@rows("handle", [0.0, 30.0])
def test_few_records_are_told_at_their_times(handle: float) -> None:
    quick, full = (Read(1.0, handle, 60_000.0, full=full) for full in (False, True))
    assert quick.handled() == full.handled() == [(at, at + 1) for at in range(59)]
    times = [[(now, fact.since) for now, _, fact, _ in each.facts.told] for each in (quick, full)]
    assert times[0] == [pytest.approx(pair, abs=5.0) for pair in times[1]]
    assert quick.store.told == full.store.told
    assert quick.simulation.messages == full.simulation.messages


def test_many_records_cost_no_more_than_few() -> None:
    handled = [Read(rate, 0.0, 600_000.0, full=False).simulation.number for rate in (10.0, 2_000.0)]
    assert handled[1] < 5_000
    assert len(Read(2_000.0, 0.0, 600_000.0, full=False).handled()) < 2_000


def test_a_disturbance_is_met_in_the_middle_of_it_all() -> None:
    def rate(simulation: Simulation) -> None:
        def change() -> None:
            simulation.command("store", Rate(50.0))

        simulation.at(30_000.0, change)

    quick, full = (Read(5.0, 30.0, 60_000.0, full=full, happens=rate) for full in (False, True))
    assert quick.ends() == full.ends()
    about = [
        [fact for fact in each.facts.told if 29_900 < fact[0] < 30_100 and fact[2].first >= 149]
        for each in (quick, full)
    ]
    assert [fact[2].first for fact in about[0]] == [fact[2].first for fact in about[1]] == [149, 150, 151, 152]


def test_a_reader_that_is_killed_has_told_as_much_as_in_a_full_run() -> None:
    def kill(simulation: Simulation) -> None:
        simulation.at(30_100.0, lambda: simulation.end("reader-0"))

    quick, full = (Read(5.0, 30.0, 60_000.0, full=full, happens=kill) for full in (False, True))
    assert quick.store.told == full.store.told == {"reader-0": 149}


def test_a_reader_that_falls_behind_is_not_passed_over() -> None:
    """3,300 records per second are more than 32 per circle of at most 10 ms can bring."""
    quick, full = (Read(3_300.0, 0.0, 5_000.0, full=full) for full in (False, True))
    assert quick.facts.told == full.facts.told


def test_what_is_told_lags_behind_what_is_handled_by_what_is_in_hand() -> None:
    flow = Flow("store", Ask(1, 0, 0), Found, 0, 0, 400.0, 32, (), (10_700.0, 5_000.0))
    stretch = Stretch(flow, Production(1.0), 0.0, 20_000.0, 3.0, 19, last=True, held=True)
    assert stretch.handled_at(10_402.0) == 9
    assert stretch.handled_at(10_404.0) == 10
    assert stretch.told_at(10_404.0) == 9, "the request that follows record 9 is sent before it is handled"
    assert stretch.told_at(10_703.0) == 10, "but then it is told anyway, and that has arrived"
    assert stretch.told_at(11_500.0) == 10


def test_facts_are_told_in_the_order_of_time() -> None:
    quick = Read(1.5, 0.0, 60_000.0, full=False, readers=3)
    times = [fact[0] for fact in quick.facts.told]
    assert times == sorted(times)
    assert {fact[2].queue for fact in quick.facts.told if type(fact[2]) is Delivered} == {QUEUE}
