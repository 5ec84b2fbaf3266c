"""Clients of RocketMQ's 5.x line, as `compare.judging.judging` asks for them: programs before a served proxy, the model
of the Java client's PushConsumer before the model's proxy in virtual time, and the situations of both.
"""

from collections.abc import Iterator
from functools import partial
from math import inf
from typing import Final, cast

from compare.judging.grpc_stage import (
    ASSIGNMENT,
    CHANGES,
    METHOD_OF,
    RECEIVE,
    Exchanges,
    GrpcExchange,
    Stage,
    broken,
    reaction,
)
from compare.judging.judging import System
from compare.judging.playing import (
    FIRST,
    GOES_ON,
    GROUP,
    SECOND,
    TOPIC,
    Outcome,
    Played,
    Script,
    Situation,
    Wait,
    another_goes,
    another_joins,
    in_place,
    joins,
    refused_at_start,
    refused_at_work,
    stopped,
    stopped_with_records,
    watched,
    watched_from_the_start,
)
from compare.judging.rocketmq import SETTLE_MS, AnyModelWorld, AnyPrograms
from compare.judging.rocketmq_reactions import AGAIN, when
from compare.judging.rocketmq_situations import BROKERS, EACH, EVERY_MS, QUEUES, SLOW_MS, broker_returns
from compare.judging.worlds import Simulated, play_program
from protocols.engine.nodes import Message
from protocols.load import PoisonRecord
from rocketmq_selfbalance.cluster import (
    NAME_SERVER,
    PROXY,
    BrokerSettings,
    PopSettings,
    Shutdown,
)
from rocketmq_selfbalance.popping.client import PopConfig
from rocketmq_selfbalance.popping.consumer import PushConsumer
from rocketmq_selfbalance.popping.messages import (
    Assignment,
    ClientHeartbeat,
    Done,
    QueryAssignment,
    Received,
    ReceiveMessage,
)
from rocketmq_selfbalance.popping.proxy import ProxyNode as ModelProxy
from rocketmq_selfbalance.proxy import METHODS, NAME, Answered, Call, ClientType, Code, ProxyNode, Status, Telemetry

PUSH, SIMPLE = "push", "simple"
BOTH: Final = frozenset((PUSH, SIMPLE))
ONLY_PUSH: Final = frozenset((PUSH,))
"""Kinds of consumers."""

SLOW_EVERY_MS: Final = 4_000.0
"""A record is written to every queue so often where a member takes `SLOW_MS` for each."""
HANDLED_WITHIN_MS: Final = 25_000.0
"""A record that was not handled comes again within 10 s (a push consumer's), or after its invisible time."""
MOST_RETRIES: Final = 1
"""Of a group that is served in order."""

_KINDS: Final = {ClientType.PUSH_CONSUMER: PUSH, ClientType.SIMPLE_CONSUMER: SIMPLE}


# What happens.


def crashes_with_records(stage: Stage) -> Script:
    """Another member is killed while it has records, and the proxy takes it for gone: they come back."""
    yield from in_place(stage, FIRST, SECOND)
    yield Wait(lambda: stage.has_records(SECOND), stage.waits.reached)
    stage.begin()
    stage.members.kill(SECOND)
    yield Wait(lambda: not stage.members.alive(SECOND), stage.waits.reached)
    stage.world.forget(SECOND)
    yield from watched(stage)


def stays(stage: Stage) -> Script:
    """Nothing happens for so long that heartbeats are due."""
    yield from in_place(stage, FIRST)
    stage.begin()
    yield from watched(stage, least=25_000.0)


def frozen(stage: Stage) -> Script:
    """Its process stands still; then it goes on."""
    yield from in_place(stage, FIRST)
    stage.members.freeze(FIRST)
    yield Wait(lambda: False, 4_000.0)
    stage.begin()
    stage.members.thaw(FIRST)
    yield from watched(stage)


def fails(stage: Stage) -> Script:
    """Until the record that it could not handle has come again, which lasts 10 s."""
    yield from watched_from_the_start(stage)
    yield Wait(lambda: stage.exchanges.given_out().came_again() > 0, HANDLED_WITHIN_MS)


STORIES: Final = (
    Situation("joins", joins, BOTH),
    Situation("another member joins", another_joins, BOTH),
    Situation("another member leaves", partial(another_goes, "leaves"), BOTH),
    Situation("another member crashes with records in hand", crashes_with_records, BOTH, slow=True),
    Situation("nothing happens for 25 s", stays, BOTH),
    Situation("a broker stops and returns", partial(broker_returns, BROKERS[1], 3_000.0, 6_000.0), BOTH),
    Situation("frozen for 4 s", frozen, BOTH),
    Situation("it fails once on a record", fails, BOTH, fails=1),
    Situation("in order", watched_from_the_start, ONLY_PUSH, in_order=True),
    Situation("in order: it fails each time on a record", watched_from_the_start, ONLY_PUSH, in_order=True, fails=9),
    Situation("told to end (SIGTERM)", stopped, BOTH, stopped=True),
    Situation("told to end with records in hand", stopped_with_records, BOTH, slow=True, stopped=True),
)

_ERRORS: Final = ("INTERNAL_SERVER_ERROR", "TOO_MANY_REQUESTS")


def _refusals() -> Iterator[Situation]:
    kinds = {method: kind for kind, method in METHOD_OF.items()}
    at_start, at_work = partial(refused_at_start, kinds[ASSIGNMENT]), partial(refused_at_work, kinds[RECEIVE])
    for error in _ERRORS:
        yield Situation(f"{error} on {ASSIGNMENT}", partial(at_start, error), ONLY_PUSH)
    yield Situation(f"{_ERRORS[0]} on {RECEIVE}", partial(at_work, _ERRORS[0]), BOTH)
    yield Situation(
        f"{_ERRORS[1]} on {RECEIVE}",
        partial(at_work, _ERRORS[1]),
        ONLY_PUSH,
        java=(when(AGAIN, 20.0),),
        java_place="ProcessQueueImpl.RECEIVING_FLOW_CONTROL_BACKOFF_DELAY is 20 ms",
    )
    for method, java, place in (
        ("AckMessage", when(AGAIN, 1_000.0), "ProcessQueueImpl.ackMessage tries again after 1 s"),
        ("Heartbeat", GOES_ON, "ClientManagerImpl sends the next heartbeat after 10 s"),
    ):
        for error in _ERRORS:
            script = partial(refused_at_work, kinds[method], error)
            yield Situation(f"{error} on {method}", script, ONLY_PUSH, java=(java,), java_place=place)


SITUATIONS: Final = (*STORIES, *_refusals())
"""All of them, in the order of the table."""


# Where it happens.


class Programs(AnyPrograms):
    """Of the 5.x line's clients, before a served proxy."""

    handled_within_ms = HANDLED_WITHIN_MS

    def __init__(self, template: str, situation: Situation) -> None:
        super().__init__(template, situation)
        self.every_ms = SLOW_EVERY_MS if situation.slow else EVERY_MS
        self.exchanges: Exchanges = Exchanges((NAME,), self._member_of, GrpcExchange)
        self._members: dict[str, str] = {}
        """Client id to whose it is."""

    async def begin(self) -> None:
        await super().begin()
        if self.situation.in_order:
            self.service.cluster.create_topic(TOPIC, dict.fromkeys(BROKERS, EACH), "FIFO")
            self.service.cluster.create_group(GROUP, in_order=True, most_retries=MOST_RETRIES)

    def _member_of(self, peer: str, message: Message) -> str:
        """By the client id; a new one is the youngest program's."""
        client_id = message.client_id if isinstance(message, Call | Telemetry) else ""
        return self._members.setdefault(client_id, self.members.newest or FIRST)

    def cut(self, member: str) -> None:
        """No situation cuts connections here."""

    def forget(self, member: str) -> None:
        node = self.sockets.processes[NAME]
        proxy = cast(ProxyNode, node.node).proxy
        for client_id, client in proxy.clients.items():
            if self._members.get(client_id) == member:
                client.heard = -inf
        node.set_timer("scan", self.now)

    def refusal(self, message: Message, error: str) -> Message:
        assert isinstance(message, Call)
        return Answered(message.correlation, (METHODS[message.method].response(Status(Code[error], error)),))

    def handled_all(self) -> bool:
        outcome = self.outcome()
        return outcome.waiting == outcome.open == 0

    def outcome(self) -> Outcome:
        written = [(queue, offset) for queue, end in self.ends().items() for offset in range(end)]
        return self.exchanges.given_out().outcome(written, self.members.printed)

    def broken(self) -> str | None:
        ended = not self.members.alive(FIRST)
        return broken(self.exchanges, self.situation, self.members.printed, self.now, ended=ended)

    def kind(self) -> str | None:
        """What kind of consumer the program says to be; None where it says nothing."""
        for each in self.exchanges.all:
            settings = each.request.command.settings if isinstance(each.request, Telemetry) else None
            if settings is not None and settings.client_type in _KINDS:
                return _KINDS[settings.client_type]
        return None


class ModelWorld(AnyModelWorld):
    """Of push consumers of the 5.x line, with the proxy."""

    def __init__(self, exchanges: Exchanges, situation: Situation) -> None:
        settings = PopSettings()
        if situation.in_order:
            settings = PopSettings(consume_message_orderly=True, retry_max_times=MOST_RETRIES)
        poison = {QUEUES[0]: (PoisonRecord(0, situation.fails, 0.0),)} if situation.fails else {}
        handle = float(SLOW_MS) if situation.slow else 1.0

        def make(member: str, instance_id: str | None) -> PushConsumer:
            return PushConsumer(PopConfig(GROUP, member, (TOPIC,), settings, PROXY, handle, poison))

        every_ms = SLOW_EVERY_MS if situation.slow else EVERY_MS
        super().__init__(Simulated(exchanges, make, Shutdown(GROUP)), BrokerSettings(), every_ms)
        self.members.serve(PROXY, ModelProxy(settings, NAME_SERVER))
        self.simulation.run(SETTLE_MS)

    def cut(self, member: str) -> None:
        """No situation cuts connections here."""

    def forget(self, member: str) -> None:
        """Nothing that the other member does rests on it."""

    def refusal(self, message: Message, error: str) -> Message:
        if isinstance(message, ReceiveMessage):
            return Received(message.correlation, False)
        if isinstance(message, QueryAssignment):
            return Assignment(message.correlation, message.topic, None)
        assert not isinstance(message, ClientHeartbeat), "its situations say what the Java client does"
        return Done(message[0], False)


async def play(template: str, situation: Situation, protocol: str | None = None) -> Played:
    """The program in one situation. Raises `UserError` where it cannot be started."""
    programs = Programs(template, situation)
    return await play_program(programs, partial(Stage, programs, programs.exchanges), situation, reaction)


def play_model(situation: Situation, protocol: str) -> tuple[str, ...]:
    """What the model does in one situation."""
    exchanges = Exchanges((PROXY,), lambda peer, message: peer, GrpcExchange)
    world = ModelWorld(exchanges, situation)
    stage = Stage(world, exchanges, world.members.interference())
    world.members.follow(situation.script(stage))
    did = reaction(stage, situation)
    if protocol == SIMPLE:  # what its program does not acknowledge comes again when its invisible time is over
        did = tuple([each for each in did if each != CHANGES]) or (GOES_ON,)
    return did


GRPC: Final = System(
    java="RocketMQ's Java client",
    kind="consumer",
    situations=SITUATIONS,
    play=play,
    play_model=play_model,
    joins=f"a consumer of the 5.x line that subscribes to {{topic}} in {{group}} (here {TOPIC!r} in {GROUP!r})",
)
