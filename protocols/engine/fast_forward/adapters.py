"""What knows a node from outside: whether it is quiescent, and how it is moved on (the promises: `contract`)."""

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

from protocols.engine.fast_forward.contract import Quiescence, Renewal, Stretch
from protocols.engine.fast_forward.outbox import ReplayOutbox
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.load import Production

Judgement: TypeAlias = Callable[[Time, str, Any], Renewal | None]
"""Now, sender and message to what follows of a message under way to the node that will change nothing; None where it
will."""

NO_JUDGEMENTS: Final[Mapping[type[Message], Judgement]] = MappingProxyType({})


class Adapter(Protocol):
    """One node as this layer sees it, for as long as the node's process runs."""

    @property
    def judges(self) -> Mapping[type[Message], Judgement]:
        """The kinds of messages to the node that may or may not be harmless, by what they say."""

    @property
    def reader(self) -> "FlowReader | None":
        """Where the node may be the reader of flows."""

    @property
    def source(self) -> "FlowSource | None":
        """Where the node may be the other side of flows."""

    def quiescence(self, now: Time) -> Quiescence | None:
        """How the node is quiescent, None if it is not. Changes nothing in the node."""

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: ReplayOutbox) -> None:
        """Harmless messages of this kind (and about this, see `contract.Exchange.about`) were skipped; the last one
        came now."""

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        """Rounds of an exchange were skipped; the last one began at ``begun`` and ended now."""


class FlowReader(Protocol):
    """The side of a flow that reads."""

    def replay_reading(self, now: Time, stretch: Stretch, out: ReplayOutbox) -> None:
        """So far the node has come until now; it asks anew, unless its request is held. Flows of few records are told
        in several stretches, one after the other."""


class FlowSource(Protocol):
    """The side of a flow that is read from."""

    def production(self, now: Time, sender: str, request: Message) -> Production | None:
        """What the queue takes in for which this is asked; None where anything else would happen than the answer."""

    def replay_reader(self, now: Time, sender: str, stretch: Stretch, out: ReplayOutbox) -> None:
        """So far the sender has come until now."""


Adapters: TypeAlias = Mapping[type[Any], Callable[[Any], Adapter]]
"""Class of a node to what makes its adapter. A node without one is never quiescent."""
