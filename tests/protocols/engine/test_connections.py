"""What the engine promises about the network: links, connections, faults, processes that end and that hang."""

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.links import Fault, Latency
from protocols.engine.simulation import Simulation
from protocols.engine.traffic import Load, Traffic
from tests.protocols.engine.probes import Probe, Word, say

FIXED = Latency(2.0, 2.0)


def pair(latency: Latency = FIXED, **more: Any) -> tuple[Simulation, Probe, Probe]:
    """Two processes, a and b, that do not know each other yet."""
    simulation = Simulation(latency=latency, **more)
    probes = Probe(), Probe()
    simulation.start("a", probes[0])
    simulation.start("b", probes[1])
    return simulation, *probes


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(0, 100))
def test_a_link_is_first_in_first_out(waits: list[int], seed: int) -> None:
    simulation, _, b = pair(Latency(0.0, 10.0), seed=seed)
    for number, wait in enumerate(waits):
        simulation.run(simulation.now + wait)
        say(simulation, "a", "b", str(number))
    simulation.run(1000)
    assert [what for event, what in b.events if event == "a"] == [str(number) for number in range(len(waits))]


def test_where_nobody_runs_the_connection_is_refused_at_once_and_no_frame_is_sent() -> None:
    simulation, a, _ = pair()
    servers = ("nobody", "a", "b")
    traffic = simulation.traffic = Traffic({Word: lambda word, client, server: len(word.text)}, [Word], servers)
    for to in servers:
        say(simulation, "a", to, "x")
    simulation.run(10)
    assert a.log[1:] == [(0, "closed", "nobody"), (0, "closed", "a"), (0, "connected", "b")]
    assert traffic.by_second(10) == {"nobody": [Load()], "a": [Load()], "b": [Load(1, 1)]}


def test_where_the_network_is_cut_messages_vanish_in_silence() -> None:
    simulation, a, b = pair()
    simulation.set_fault("a", "b", Fault(cut=True))
    say(simulation, "a", "b", "lost")
    simulation.run(1000)
    assert a.events == b.events == []
    simulation.set_fault("a", "b", None)
    say(simulation, "a", "b", "heard")
    simulation.run(2000)
    assert a.events == [("connected", "b")]
    assert b.events == [("connected", "a"), ("a", "heard")]


def test_a_close_behind_a_cut_is_told_when_it_is_mended() -> None:
    simulation, a, _ = pair()
    say(simulation, "a", "b", "x")
    simulation.run(10)
    simulation.set_fault("a", "b", Fault(cut=True))
    simulation.end("b")
    simulation.run(1000)
    assert a.events == [("connected", "b")]
    simulation.set_fault("a", "b", Fault(delay=5.0))
    simulation.run(2000)
    assert a.log[2:] == [(1007, "closed", "b")]


def test_who_connects_to_a_process_that_ends_before_it_hears_of_it_is_told() -> None:
    simulation, a, b = pair()
    say(simulation, "a", "b", "x")
    simulation.at(1, partial(simulation.end, "b"))
    simulation.run(100)
    assert a.log[1:] == [(0, "connected", "b"), (4, "closed", "b")]
    assert b.events == []


def test_a_process_may_end_while_it_hangs() -> None:
    simulation, a, b = pair()
    simulation.hang("b")
    say(simulation, "a", "b", "x")
    simulation.run(10)
    simulation.end("b")
    simulation.run(20)
    assert a.events == [("connected", "b"), ("closed", "b")]
    assert b.events == []
