"""What is counted instead of being computed one by one has the same sums, and what is in vain is left out unseen."""

from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.alone import Alone
from protocols.engine.lanes import Lane, Turn
from protocols.engine.links import Latency
from protocols.engine.nodes import Message, Outbox, Time
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


def rounds_of(simulation: Simulation, brokers: int, topics: int) -> tuple[Alone, list[Lane]]:
    links = [simulation.processes["c"].links[f"b{number}"] for number in range(brokers)]
    lanes = tuple((Lane(link), Lane(link.back)) for link in links)
    turns = [Turn(Choices("c", "asked"), lanes)] * topics
    return Alone(Word, Word, turns, 5.0), [lane for pair in lanes for lane in pair]


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


class Deaf(Probe):
    """Hears the first word of everybody, and no other before 10 s."""

    deaf_to = frozenset({Word})

    def deaf_until(self, sender: str, kind: type[Message]) -> Time:
        return 10_000.0 if any(event == sender for _, event, _ in self.log) else 0.0


def told(node: Probe, *, full: bool, hangs_at: Time | None = None) -> Simulation:
    """A thousand words to the node within a few milliseconds; it wakes after 10 s."""

    def talk(event: str, what: object, out: Outbox) -> None:
        if event == "timeout":
            for number in range(1000):
                out.send("node", Word(f"word {number}"))
        elif event == "start":
            out.send("node", Word("first"))
            out.set_timer("talk", 20.0)

    simulation = Simulation(seed=4, latency=Latency(1.0, 5.0), full=full)
    simulation.start("node", node)
    simulation.start("broker", Probe(talk))
    if hangs_at is not None:
        simulation.at(hangs_at, lambda: simulation.hang("node"))
        simulation.at(12_000.0, lambda: simulation.wake("node"))
    simulation.run(20_000.0)
    return simulation


def test_words_in_vain_are_counted_but_not_handed_over() -> None:
    heard, deaf = Probe(), Deaf()
    full, quiet = told(heard, full=True), told(deaf, full=False)
    assert quiet.messages == full.messages == {Word: 1001}
    assert len(deaf.log) < 20 < 1000 < len(heard.log)
    links = [each.processes["broker"].links["node"] for each in (full, quiet)]
    assert len({(link.sent, link.last_arrival) for link in links}) == 1


def test_words_in_vain_that_were_under_way_when_the_node_began_to_hang_wait_for_it() -> None:
    heard, deaf = Deaf(), Deaf()
    for node, full in ((heard, True), (deaf, False)):
        told(node, full=full, hangs_at=22.0)
    late = [[entry for entry in node.log if entry[0] >= 12_000.0] for node in (heard, deaf)]
    assert late[0] == late[1]
    assert len(late[0]) > 100
