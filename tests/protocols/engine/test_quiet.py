"""Passing over quiet times changes nothing but the work."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS
from protocols.engine.fast_forward.contract import Exchange, Quiescence
from protocols.engine.fast_forward.driver import FastForward
from protocols.engine.links import Fault, Latency
from protocols.engine.nodes import TICK, Message, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation
from tests.protocols.engine.lease_adapters import ADAPTERS
from tests.protocols.engine.leases import SCAN_MS, Client, Publish, Renew, Server
from tests.protocols.happenings import Facts, Happens
from tests.rows import rows

SERVERS = ("one", "two")


def story(happenings: list[Happens], seed: int, latency: Latency, until: Time, full: bool, clients: int = 4) -> Any:
    facts = Facts()
    simulation = Simulation(seed=seed, latency=latency, observer=facts)
    if not full:
        FastForward(simulation, ADAPTERS)
    for server in SERVERS:
        simulation.at(0.0, partial(simulation.start, server, Server()))
    for number in range(clients):
        client = Client(SERVERS, polls=number % 3 != 2, checks=number % 2 == 1)
        simulation.at(0.0 if number % 2 else number * 37.0, partial(begin, simulation, f"c{number}", client))
    for each in happenings:
        simulation.at(each.at, partial(happen, simulation, each))
    simulation.run(until)
    return simulation, facts.told


def begin(simulation: Simulation, name: str, client: Client) -> None:
    if not simulation.is_running(name):
        simulation.start(name, client)


def happen(simulation: Simulation, each: Happens) -> None:
    name, server = f"c{each.client}", SERVERS[each.server]
    acts: dict[str, Callable[[], None]] = {
        "crash": partial(simulation.end, name),
        "hang": partial(simulation.hang, name),
        "wake": partial(simulation.wake, name),
        "disconnect": partial(simulation.disconnect, name),
        "slow": partial(simulation.set_fault, name, server, Fault(delay=50.0)),
        "cut": partial(simulation.set_fault, name, server, Fault(cut=True)),
        "mend": partial(simulation.set_fault, name, server, None),
        "hang server": partial(simulation.hang, server),
        "wake server": partial(simulation.wake, server),
        "publish": partial(simulation.command, server, Publish()),
    }
    if each.what == "start":
        begin(simulation, name, Client(SERVERS))
    elif each.what == "nothing" or not simulation.is_running(name):
        pass
    else:
        acts[each.what]()


WHAT = [
    *("crash", "start", "hang", "wake", "disconnect", "cut", "slow", "mend", "publish", "nothing"),
    *("hang server", "wake server"),
]
HAPPENINGS = st.lists(
    st.builds(
        Happens,
        st.integers(0, 40_000_000).map(lambda ticks: ticks * TICK),
        st.sampled_from(WHAT),
        st.integers(0, 5),
        st.integers(0, 1),
    ),
    max_size=6,
)
LATENCIES = st.sampled_from([Latency(1.0, 5.0), Latency(2.0, 2.0), Latency(0.0, 0.0), Latency(0.0, 2 * TICK)])


@settings(max_examples=60, deadline=None)
@given(HAPPENINGS, st.integers(0, 3), LATENCIES, st.integers(20_000, 45_000))
def test_full_runs_and_others_tell_the_same(happenings: list[Happens], seed: int, latency: Latency, until: int) -> None:
    full, in_full = story(happenings, seed, latency, float(until), full=True)
    quick, told = story(happenings, seed, latency, float(until), full=False)
    assert told == in_full
    assert quick.messages == full.messages
    assert {name: pending(quick, name) for name in quick.processes} == {
        name: pending(full, name) for name in full.processes
    }


def pending(simulation: Simulation, name: str) -> Any:
    process = simulation.processes[name]
    state = {key: value for key, value in vars(process.node).items() if key not in ("number", "waiting")}
    timers = sorted((timer[:2], str(key)) for key, timer in process.timers.items())
    return state, timers, {peer: (link.sent, link.last_arrival) for peer, link in process.links.items()}


def test_a_long_quiet_run_costs_little() -> None:
    full, _ = story([], 1, Latency(1.0, 5.0), 60_000.0, full=True)
    quick, _ = story([], 1, Latency(1.0, 5.0), 60_000.0, full=False)
    assert quick.messages == full.messages
    assert full.messages[Renew] > 1000
    assert quick.number < full.number / 10


@rows("tracing", [False, True])
def test_tracing_leaves_nothing_out(tracing: bool) -> None:
    simulation = Simulation(tracing=tracing)
    FastForward(simulation, ADAPTERS)
    simulation.start("one", Server())
    simulation.run(60_000.0)
    scans = 60_000 / SCAN_MS
    assert (simulation.number >= scans) is tracing


class Ticking:
    """Sets a timer again and again."""

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer("tick", now + 10)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        out.set_timer("tick", now + 10)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None: ...


class Careless:
    """Claims that its node is quiescent, and tells something of what was skipped."""

    judges = NO_JUDGEMENTS
    reader = source = None

    def __init__(self, node: Ticking) -> None: ...

    def quiescence(self, now: Time) -> Quiescence:
        return Quiescence((Exchange("tick", 10),))

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None: ...

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        out.observe(("tick",))


def test_who_tells_of_what_was_skipped_was_not_quiescent() -> None:
    simulation = Simulation()
    FastForward(simulation, {Ticking: Careless})
    simulation.start("careless", Ticking())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="careless tells tuple for what was skipped"):
        simulation.run(10_000)
