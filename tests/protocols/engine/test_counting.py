"""What is counted instead of being computed one by one has the same sums."""

from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.fast_forward.cursors import LinkCursor, Turn
from protocols.engine.fast_forward.serial_round import SerialRound
from protocols.engine.links import Latency
from protocols.engine.nodes import Outbox
from protocols.engine.randomness import Choices
from protocols.engine.simulation import Simulation
from tests.protocols.engine.probes import Probe, Word

LIMITS = st.sampled_from((1, 2, 3, 4, 7, 8, 256, 300, 512))


@given(LIMITS, st.integers(0, 1200), st.integers(0, 100))
def test_choices_are_the_same_whether_taken_one_by_one_or_counted(limit: int, made: int, choices: int) -> None:
    one_by_one, counted = (Choices(5, "choose", "c1", made=made) for _ in range(2))
    taken = [one_by_one.next(limit) for _ in range(choices)]
    assert counted.tally(choices, limit) == [taken.count(each) for each in range(limit)]
    assert counted.made == one_by_one.made == made + choices
    assert counted.ahead().next(limit) == one_by_one.next(limit)


def test_a_choice_depends_on_its_number_alone_and_all_options_have_their_turn() -> None:
    choices = Choices(5, "choose", "c1")
    first = [choices.next(5) for _ in range(5000)]
    assert [Choices(5, "choose", "c1", made=number).next(5) for number in range(100)] == first[:100]
    assert [Choices(5, "choose", "c2", made=number).next(5) for number in range(100)] != first[:100]
    assert all(900 < first.count(each) < 1100 for each in range(5))


def connected(brokers: int) -> Simulation:
    """A client ``c`` that has talked to these brokers."""

    def talk(event: str, what: object, out: Outbox) -> None:
        for number in range(brokers if event == "start" else 0):
            out.send(f"b{number}", Word("hello"))

    simulation = Simulation(seed=2, latency=Latency(1.0, 5.0))
    for number in range(brokers):
        simulation.start(f"b{number}", Probe())
    simulation.start("c", Probe(talk))
    simulation.run(10.0)
    return simulation


def rounds_of(simulation: Simulation, brokers: int, topics: int) -> tuple[SerialRound, list[LinkCursor]]:
    links = [simulation.processes["c"].links[f"b{number}"] for number in range(brokers)]
    lanes = tuple((LinkCursor(link), LinkCursor(link.back)) for link in links)
    turns = [Turn(Choices("c", "asked"), lanes)] * topics
    return SerialRound(Word, Word, turns, 5.0), [lane for pair in lanes for lane in pair]


@given(st.integers(1, 5), st.integers(0, 9), st.integers(1, 4))
def test_a_round_that_is_counted_ends_when_the_computed_one_does_and_uses_the_same_latencies(
    brokers: int, more: int, times: int
) -> None:
    simulation = connected(brokers)
    counted, lanes = rounds_of(simulation, brokers, 8 * brokers + more)
    computed, others = rounds_of(simulation, brokers, 8 * brokers + more)
    assert counted.may_count
    for at in range(times):
        assert counted.count(1000.0 * at) == computed.compute(1000.0 * at)[0]
    assert [lane.number for lane in lanes] == [lane.number for lane in others]
