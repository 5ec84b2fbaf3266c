"""What passing over quiet times asks of an adapter. That it changes nothing but the work is shown by the tests of the
systems: `tests/kafka_coordinator/test_quiet.py`, `tests/rocketmq_selfbalance/test_quiet_clusters.py`."""

from collections.abc import Hashable

import pytest

from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS
from protocols.engine.fast_forward.contract import Exchange, Quiescence
from protocols.engine.fast_forward.driver import FastForward
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation
from tests.rows import rows


class Ticking:
    """Sets a timer again and again."""

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer("tick", now + 10)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        out.set_timer("tick", now + 10)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None: ...


class Quiet:
    """Its node is quiescent between two ticks."""

    judges = NO_JUDGEMENTS
    reader = source = None

    def __init__(self, node: Ticking) -> None: ...

    def quiescence(self, now: Time) -> Quiescence:
        return Quiescence((Exchange("tick", 10),))

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None: ...

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None: ...


class Careless(Quiet):
    """Tells something of what was skipped."""

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        out.observe(("tick",))


@rows("tracing", [False, True])
def test_tracing_leaves_nothing_out(tracing: bool) -> None:
    simulation = Simulation(tracing=tracing)
    FastForward(simulation, {Ticking: Quiet})
    simulation.start("one", Ticking())  # type: ignore[arg-type]
    simulation.run(60_000.0)
    assert (simulation.number >= 6_000) is tracing


def test_who_tells_of_what_was_skipped_was_not_quiescent() -> None:
    simulation = Simulation()
    FastForward(simulation, {Ticking: Careless})
    simulation.start("careless", Ticking())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="careless tells tuple for what was skipped"):
        simulation.run(10_000)
