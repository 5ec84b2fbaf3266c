"""What happens in the situations, as scripts that play in real and in virtual time."""

from functools import partial
from typing import Final

from compare.conformance.clients.playing import Script, Wait
from compare.conformance.clients.stage import FIRST, SECOND, Stage
from kafka_coordinator.cluster import JoinGroup
from protocols.engine.nodes import Message

IN_PLACE_MS, REACHED_MS, BACK_MS, WATCHED_MS = 15_000.0, 8_000.0, 8_000.0, 3_500.0
"""How long we wait, at most, until programs have joined and committed, until the situation comes about, and until the
member works again; and how long we watch at least, a heartbeat of the default interval among it."""

SLOW_MS: Final = 4_000
"""How long a slow callback takes: longer than the default interval of heartbeats."""


def instance_of(member: str) -> str:
    """The id that makes it a static member."""
    return f"instance-{member}"


def in_place(stage: Stage, *members: str, static: bool = False) -> Script:
    """Programs start and work as members of the group, one after the other."""
    for member in members:
        stage.world.start(member, instance_of(member) if static else None)
        yield Wait(partial(_works_or_gone, stage, member), IN_PLACE_MS)


def _works_or_gone(stage: Stage, member: str) -> bool:
    return not stage.world.alive(member) or (stage.works(member) and stage.commits(member))


def watched(stage: Stage, *, least: float = WATCHED_MS) -> Script:
    """What the member does: until it works again as a member or has ended, and for some time at least."""
    mark = stage.mark
    if mark is None:
        return

    def settled() -> bool:
        if not stage.world.alive(FIRST):
            return True
        return stage.world.now >= mark.at + least and stage.works(FIRST, mark.place, mark.at + 500)

    yield Wait(settled, least + BACK_MS)


def reached(stage: Stage, within: float = REACHED_MS) -> Script:
    """Until what is judged has begun."""
    yield Wait(lambda: stage.mark is not None or not stage.world.alive(FIRST), within)


def joins(stage: Stage) -> Script:
    stage.begin()
    yield from in_place(stage, FIRST)


def refused_at_work(kind: type[Message], error: str, stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.refuse(kind, error)
    yield from reached(stage)
    yield from watched(stage)


def refused_at_start(kind: type[Message], error: str, stage: Stage) -> Script:
    stage.refuse(kind, error, _is_decided_on)
    stage.world.start(FIRST)
    yield from reached(stage, IN_PLACE_MS)
    yield from watched(stage, least=1_500.0)


def _is_decided_on(message: Message) -> bool:
    """Not the JoinGroup of a client that is only given its member id."""
    return not isinstance(message, JoinGroup) or bool(message.member_id) or message.version < 4


def another_joins(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    yield from in_place(stage, SECOND)
    yield from watched(stage)


def slow_callback(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    yield from in_place(stage, SECOND)
    yield from watched(stage, least=SLOW_MS + 1_000)


def another_leaves(stage: Stage) -> Script:
    yield from in_place(stage, FIRST, SECOND)
    yield Wait(lambda: stage.works(FIRST), BACK_MS)
    stage.begin()
    stage.world.stop(SECOND)
    yield from watched(stage)


def coordinator_moves(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.move_coordinator()
    yield from watched(stage)


def connections_lost(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.cut(FIRST)
    yield from watched(stage)


def session_expires(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.expire(stage.member_id(FIRST))
    yield from watched(stage)


def frozen(stage: Stage) -> Script:
    """Its process stands still, its session ends, another member takes over; then it goes on."""
    yield from in_place(stage, FIRST, SECOND)
    yield Wait(lambda: stage.works(FIRST), BACK_MS)
    stage.world.freeze(FIRST)
    stage.world.expire(stage.member_id(FIRST))
    yield Wait(lambda: False, 4_500.0)
    stage.begin()
    stage.world.thaw(FIRST)
    yield from watched(stage)


def stopped(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.stop(FIRST)
    yield Wait(lambda: not stage.world.alive(FIRST), BACK_MS)


def static_is_killed(stage: Stage) -> Script:
    """Its process is killed, and another one with its instance id is there before the session ends."""
    yield from in_place(stage, FIRST, SECOND, static=True)
    yield Wait(lambda: stage.works(FIRST), BACK_MS)
    stage.world.kill(FIRST)
    yield Wait(lambda: not stage.world.alive(FIRST), REACHED_MS)
    stage.begin()
    stage.world.start(FIRST, instance_of(FIRST))
    yield from watched(stage)


def static_is_stopped(stage: Stage) -> Script:
    yield from in_place(stage, FIRST, static=True)
    stage.begin()
    stage.world.stop(FIRST)
    yield Wait(lambda: not stage.world.alive(FIRST), BACK_MS)


def static_comes_back(stage: Stage) -> Script:
    """It is told to end, and started again before its session ends."""
    yield from in_place(stage, FIRST, SECOND, static=True)
    yield Wait(lambda: stage.works(FIRST), BACK_MS)
    stage.world.stop(FIRST)
    yield Wait(lambda: not stage.world.alive(FIRST), BACK_MS)
    stage.begin()
    stage.world.start(FIRST, instance_of(FIRST))
    yield from watched(stage)


def static_is_replaced(stage: Stage) -> Script:
    """Another process begins with its instance id while it runs."""
    yield from in_place(stage, FIRST, static=True)
    stage.begin()
    begin = stage.world.now
    stage.world.start(SECOND, instance_of(FIRST))
    yield Wait(lambda: any(each.joins and each.answer for each in stage.exchanges.of(SECOND)), IN_PLACE_MS)
    yield from watched(stage, least=stage.world.now - begin + WATCHED_MS)


def static_expires(stage: Stage) -> Script:
    yield from in_place(stage, FIRST, static=True)
    stage.begin()
    stage.world.expire(stage.member_id(FIRST))
    yield from watched(stage)
