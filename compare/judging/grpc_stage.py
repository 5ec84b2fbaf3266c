"""Where clients of RocketMQ's 5.x line are judged: every request to the proxy with its answer, what became of the
records that a member was given, what it owes the proxy, and what it did, in words.

The model's proxy is asked in the model's own messages: `GrpcExchange.method` gives both the names of the protocol.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from compare.judging.given_out import GivenOut, Told
from compare.judging.playing import (
    ENDS,
    FIRST,
    GOES_ON,
    NOT_REACHED,
    NOT_TRIED,
    NOTHING,
    SECOND,
    STILL_OUT,
    Members,
    Situation,
    Waits,
)
from compare.judging.programs import Printed
from compare.judging.rocketmq_reactions import AGAIN, read_line, when
from compare.judging.rocketmq_situations import SERVERS, WorldOfBrokers
from compare.judging.worlds import Exchange, Listener
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time
from protocols.facts import Acquired, Available, End, Ended
from protocols.java import Queue
from rocketmq_selfbalance.popping import messages as of_model
from rocketmq_selfbalance.proxy import METHODS, Answered, Call, Code, Status, Telemetry

SETTINGS, HEARTBEAT, ASSIGNMENT, RECEIVE = "Telemetry", "Heartbeat", "QueryAssignment", "ReceiveMessage"
ACK, CHANGE = "AckMessage", "ChangeInvisibleDuration"
BURY, TERMINATE = "ForwardMessageToDeadLetterQueue", "NotifyClientTermination"

_OF_MODEL: Final[Mapping[type[Message], str]] = {
    of_model.ClientHeartbeat: HEARTBEAT,
    of_model.NotifyClientTermination: TERMINATE,
    of_model.QueryAssignment: ASSIGNMENT,
    of_model.ReceiveMessage: RECEIVE,
    of_model.AckMessage: ACK,
    of_model.ChangeInvisibleDuration: CHANGE,
    of_model.ForwardToDeadLetterQueue: BURY,
}


class GrpcExchange(Exchange):
    """What is asked of a request to the proxy."""

    __slots__ = ()

    @property
    def method(self) -> str:
        """The protocol's name of what is asked."""
        if isinstance(self.request, Call):
            return self.request.method
        return SETTINGS if isinstance(self.request, Telemetry) else _OF_MODEL.get(type(self.request), "")

    def is_like(self, other: "GrpcExchange") -> bool:
        """Whether it asks the same: of the same broker or queue, of the same records."""
        return self.method == other.method and self._about() == other._about()

    def _about(self) -> object:
        request = self.request.request if isinstance(self.request, Call) else self.request
        if self.method == RECEIVE:
            return getattr(request, "message_queue", None) or getattr(request, "broker", None)
        return [message_id for message_id, _ in _named(self)]

    @property
    def served(self) -> bool:
        """Whether it was not refused, or still waits as a ReceiveMessage may."""
        return all(status is None or status.code in (Code.OK, Code.MESSAGE_NOT_FOUND) for status in self._statuses())

    def _statuses(self) -> Iterator[Status | None]:
        if isinstance(self.answer, Answered):
            for response in self.answer.responses:
                yield getattr(response, "status", None)
        elif self.answer is not None and getattr(self.answer, "ok", True) is False:
            yield Status(Code.INTERNAL_SERVER_ERROR)


class Exchanges(Listener[GrpcExchange]):
    """Of the proxy with its clients: what it asks servers, and they answer, is no exchange here."""

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        if {sender, to}.isdisjoint(SERVERS):
            super().sent(now, arrives, sender, to, message, number, cause)

    def given_out(self) -> GivenOut[Queue]:
        """Of all records that members were given, by the bodies that say which they are."""
        places: dict[str, Printed[Queue]] = {}
        told: list[tuple[Time, Told[Queue]]] = []
        for each in self.all:
            if isinstance(each.request, Call) and isinstance(each.answer, Answered):
                told += [(each.answered_at, fact) for fact in _told(each.member, each.request, each.answer, places)]
        return GivenOut.of(fact for _, fact in sorted(told, key=lambda at: at[0]))


def _told(member: str, call: Call, answer: Answered, places: dict[str, Printed[Queue]]) -> Iterator[Told[Queue]]:
    """What an answer says of records. ``places``: message id to its record, of all that were given out so far."""
    request = call.request
    if call.method == RECEIVE:
        for response in answer.responses:
            message = getattr(response, "message", None)
            place = None if message is None else read_line(message.body)
            if message is not None and place is not None:
                system = message.system_properties
                places[system.message_id] = place
                given = place.queue, place.offset, place.offset + 1
                yield Told(*given, member, Acquired("", member, *given, system.delivery_attempt, 0.0))
        return
    if call.method == ACK:
        done = [(entry.message_id, entry.status) for entry in getattr(answer.responses[0], "entries", ())]
    else:
        done = [(getattr(request, "message_id", ""), getattr(answer.responses[0], "status", None))]
    for message_id, status in done:
        place = places.get(message_id)
        if place is not None and status is not None and status.code == Code.OK and call.method in _BECOMES:
            how = _BECOMES[call.method]
            what = place.queue, place.offset, place.offset + 1
            fact = Available("", member, *what, "released") if how is None else Ended("", member, *what, how)
            yield Told(*what, member, fact)


_BECOMES: Final[Mapping[str, End | None]] = {ACK: "acknowledged", BURY: "dead letter", CHANGE: None}
"""What becomes of a record; None: it can be had again."""


@dataclass(slots=True)
class Mark:
    """When what is judged began: the time, the place in `Exchanges.all`, and the request that was refused."""

    at: Time
    place: int
    refused: GrpcExchange | None = None


WAITS: Final = Waits(in_place=40_000.0, reached=25_000.0, back=30_000.0, watched=4_000.0, watched_at_start=4_000.0)


class World(WorldOfBrokers, Protocol):
    """What a stage needs of the world below it."""

    def forget(self, member: str) -> None:
        """The proxy takes the client for gone, as two minutes without a heartbeat make it."""

    def refusal(self, message: Message, error: str) -> Message:
        """The answer that refuses a request."""


@dataclass(slots=True)
class Stage:
    """One situation while it is played."""

    world: World
    exchanges: Exchanges
    interference: Interference
    mark: Mark | None = None
    waits: Waits = WAITS

    @property
    def members(self) -> Members:
        """Who plays."""
        return self.world.members

    def begin(self, refused: Message | None = None) -> None:
        """What happens from now on is judged."""
        place = self.exchanges.place_after(refused)
        self.mark = Mark(self.world.now, place, self.exchanges.all[place - 1] if refused else None)

    def refuse(self, kind: type[Message], error: str) -> None:
        """Answer the next request of this kind of the first member with an error, and judge from then on."""

        def meant(node: str, sender: str, message: Message) -> bool:
            found = next((each for each in reversed(self.exchanges.all) if each.request is message), None)
            return found is not None and found.member == FIRST and found.method == METHOD_OF[kind]

        def answer(node: str, message: Message) -> Message:
            self.begin(message)
            return self.world.refusal(message, error)

        self.interference.reply(meant, answer, 1)

    def receives(self, member: str, since: int = 0) -> bool:
        """Whether it has asked for records, and was not refused the last time."""
        asked = [each for each in self.exchanges.of(member, since) if each.method == RECEIVE]
        return bool(asked) and asked[-1].served

    def in_place(self, member: str) -> bool:
        """Whether it receives and has acknowledged."""
        acked = any(each.method == ACK and each.answer and each.served for each in self.exchanges.of(member))
        return self.receives(member) and acked

    def has_records(self, member: str) -> bool:
        """Whether it was given records that it has not acknowledged."""
        return member in self.exchanges.given_out().held.values()

    def is_back(self) -> bool:
        """Whether the first member receives again."""
        return self.mark is not None and self.receives(FIRST, self.mark.place)


METHOD_OF: Final = {method.request: name for name, method in METHODS.items() if name not in (BURY, TERMINATE)}
"""Kind of a request to its method."""

CHANGES: Final = "changes its invisible time"
_PHRASES: Final[Mapping[str, str]] = {CHANGE: CHANGES, BURY: "gives it to the dead letters"}
"""What it does with a record that it cannot handle."""


def reaction(stage: Stage, situation: Situation) -> tuple[str, ...]:
    """What the first member did since the beginning of the situation."""
    mark = stage.mark
    if mark is None:
        return (NOT_REACHED,)
    own = list(stage.exchanges.of(FIRST, mark.place))
    found: dict[str, None] = {}
    if mark.refused is not None:
        again = [each.at - mark.at for each in own if each.is_like(mark.refused)]
        if again and mark.refused.method != HEARTBEAT:  # one is due soon in any case
            found[when(AGAIN, min(again))] = None
    for each in own:
        if situation.fails and each.method in _PHRASES:
            found[_PHRASES[each.method]] = None
        if each.method == TERMINATE:
            found["says that it ends"] = None
    if not stage.members.alive(FIRST):
        found[ENDS] = None
    tried = not found.keys().isdisjoint(_PHRASES.values()) or stage.exchanges.given_out().came_again()
    if situation.fails and not tried:
        return (NOT_TRIED,)
    if ENDS in found:
        return tuple(found)
    if not stage.receives(FIRST, mark.place):
        return (*found, STILL_OUT) if own else (NOTHING,)
    return tuple(found) or (GOES_ON,)


NO_HEARTBEAT_MS: Final = 20_000.0
"""A client that has none within so long after its settings sends none: the Java client's come each 10 s."""


def broken(
    exchanges: Exchanges, situation: Situation, lines: list[Printed[Queue]], now: Time, *, ended: bool
) -> str | None:
    """What the programs owe the proxy and did not do; ``ended``: whether the first one has ended by itself."""
    given = exchanges.given_out()
    kept = list(given.held.values()).count(FIRST)
    if ended and kept and not any(each.method == TERMINATE for each in exchanges.of(FIRST)):
        return f"{kept} records that it had are hidden after its end"
    for member in (FIRST, SECOND):
        found = _broken(list(exchanges.of(member)), now)
        if found is not None:
            return found
    return (given.out_of_order(lines) if situation.in_order else None) or given.miscounted(lines)


def _broken(own: list[GrpcExchange], now: Time) -> str | None:
    """Of one member."""
    told = next((each.at for each in own if each.method == SETTINGS), None)
    asked = next((each.at for each in own if each.method == RECEIVE), None)
    if asked is not None and (told is None or told > asked):
        return "asks for records before it has told its settings"
    ended = any(each.method == TERMINATE for each in own)
    silent = told is not None and min(now, own[-1].at) - told > NO_HEARTBEAT_MS
    if silent and not ended and not any(each.method == HEARTBEAT for each in own):
        return f"sends no heartbeat in {NO_HEARTBEAT_MS / 1000:.0f} s"
    newest: dict[str, str] = {}
    for each in own:
        for message_id, handle in _named(each):
            if handle != newest.get(message_id, handle):
                return "names a handle that a change of the invisible time has replaced"
        if each.method == CHANGE and isinstance(each.request, Call) and isinstance(each.answer, Answered):
            changed = getattr(each.answer.responses[0], "receipt_handle", "")
            if changed:
                newest[getattr(each.request.request, "message_id", "")] = changed
        elif each.method == RECEIVE and isinstance(each.answer, Answered):
            for response in each.answer.responses:
                message = getattr(response, "message", None)
                if message is not None:
                    newest.pop(message.system_properties.message_id, None)
    return None


def _named(each: GrpcExchange) -> list[tuple[str, str]]:
    """Message ids and handles of a request about records."""
    request = each.request.request if isinstance(each.request, Call) else None
    if each.method == ACK:
        return [(entry.message_id, entry.receipt_handle) for entry in getattr(request, "entries", ())]
    if each.method in (CHANGE, BURY):
        return [(getattr(request, "message_id", ""), getattr(request, "receipt_handle", ""))]
    return []
