"""Everything that a consumer knows and waits for. The other files of this package are what it does.

Two threads of the real client are told apart by what waits for whom: the *user's thread* acts in poll() alone
(`polling.poll`); the *heartbeat thread* and the network go on without it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.config import ConsumerConfig, Load
from kafka_coordinator.consumer.settings import COOPERATIVE
from kafka_coordinator.consumer.states import CONSUMER, UNJOINED
from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Transition
from protocols.load import Reading

NOTHING, METADATA, COMMIT, JOIN, SYNC, BACKOFF = "", "metadata", "commit", "join", "sync", "backoff"
"""What the user's thread waits for on its way to a new assignment."""

NO_GENERATION = -1

Metadata = Mapping[str, tuple[str, ...]]
"""Topic to the leader of each of its partitions."""

Snapshot = tuple[tuple[str, int, tuple[tuple[str, ...], ...]], ...]
"""Topic, number of partitions and, where the client has a rack, the replicas' racks; sorted."""


class Waiting(NamedTuple):
    """A request that was sent and not answered: to whom, what, until when, and what its answer needs to know."""

    to: str
    kind: type[Message]
    deadline: Time
    about: Any


class Memory(NamedTuple):
    """What an assignor object of this client remembers (spec 5.8)."""

    claims: tuple[Partition, ...] | None = None
    """The last assignment, in the assignor's order; None before the first."""
    generation: int = NO_GENERATION
    highest: int = NO_GENERATION
    """The highest generation it has seen when it computed."""


class Called(NamedTuple):
    """The user's listener runs. ``then``: what the client does once it returns; empty: nothing."""

    kind: str
    partitions: tuple[Partition, ...]
    then: str
    assigned: tuple[Partition, ...] = ()
    """The new assignment, in the assignor's order, where that is what follows."""


class ConsumerState:
    """A consumer's state; times are milliseconds of virtual time."""

    __slots__ = (
        "assigned_by_user",
        "assigned_topics",
        "awaiting",
        "away",
        "batch_end",
        "brokers",
        "called",
        "check_at",
        "closed",
        "closing",
        "commit_due",
        "commit_outcome",
        "config",
        "cooperative",
        "coordinator",
        "correlation",
        "deferred",
        "dropping",
        "failures",
        "fatal",
        "fetching",
        "found",
        "frozen",
        "generation",
        "heard",
        "heartbeat_failures",
        "heartbeat_out",
        "is_leader",
        "joined_subscription",
        "load",
        "looking",
        "lookup_failures",
        "member_id",
        "memories",
        "metadata",
        "metadata_asked",
        "metadata_failures",
        "metadata_fresh",
        "metadata_news",
        "needs_prepare",
        "owned",
        "paused",
        "pending_join",
        "polled_at",
        "positions",
        "prepare_deadline",
        "protocol",
        "racks",
        "reading",
        "reason",
        "refreshing",
        "refusals",
        "refused",
        "rejoin",
        "resume_at",
        "snapshot",
        "state",
        "stored",
        "subscription",
        "unpositioned",
        "user_commit",
        "waiting",
    )

    def __init__(self, config: ConsumerConfig) -> None:
        self.config = config
        self.load: Load = config.load
        self.cooperative = config.settings.rebalance_protocol == COOPERATIVE

        # Requests.
        self.correlation = 0
        self.waiting: dict[int, Waiting] = {}
        self.check_at: Time | None = None
        """When the timer looks for requests that were not answered in time."""
        self.deferred: list[tuple[Message, Any]] = []
        """Answers for the user's thread, which is away."""

        # Brokers and topics.
        self.brokers: tuple[str, ...] = config.bootstrap
        self.refused = ""
        """The broker whose connection was refused or lost last, until it answers again."""
        self.refusals = 0
        """How often in a row."""
        self.metadata: Metadata = {}
        self.racks: Mapping[str, tuple[tuple[str, ...], ...]] = {}
        self.metadata_asked: tuple[str, ...] | None = ()
        """The topics of which the metadata tells; None: all."""
        self.refreshing = False
        self.metadata_failures = 0
        self.metadata_fresh = False
        """Refreshed since the current rejoin was requested (a pattern's joins need that)."""
        self.metadata_news = False
        """Something came that poll() has not looked at."""
        self.subscription: tuple[str, ...] = config.topics if config.pattern is None else ()
        """The topics subscribed to now; a pattern's are those that matched last, sorted."""

        # The coordinator.
        self.coordinator: str | None = None
        self.dropping = ""
        """The former coordinator, whose connection is to be closed."""
        self.found = ""
        """The coordinator, as long as its lost connection is not to be opened again."""
        self.looking = False
        """Somebody was asked for the coordinator, or will be after a pause."""
        self.lookup_failures = 0

        # Membership.
        self.state = UNJOINED
        self.generation = NO_GENERATION
        self.member_id = ""
        self.protocol: str | None = None
        self.is_leader = False
        self.rejoin = bool(config.topics) or config.pattern is not None
        self.reason = ""
        """Why it rejoins, in Kafka's words."""
        self.needs_prepare = True
        self.awaiting = NOTHING
        self.prepare_deadline: Time = 0.0
        self.failures = 0
        """Joins that failed in a row."""
        self.joined_subscription: tuple[str, ...] = ()
        self.pending_join: Any = None
        """The answer to the leader's JoinGroup while it waits for metadata."""
        self.snapshot: Snapshot | None = None
        """The metadata with which the leader computed; None: not the leader."""
        self.assigned_topics: tuple[str, ...] = ()
        """Sorted topics of the whole group, which the leader watches; empty: not the leader."""
        self.memories: dict[str, Memory] = {}

        # Heartbeats.
        self.heard: Time = 0.0
        """When the coordinator answered last."""
        self.heartbeat_out = False
        self.heartbeat_failures = 0

        # Partitions.
        self.owned: tuple[Partition, ...] = ()
        """What it believes it owns, sorted."""
        self.assigned_by_user: tuple[Partition, ...] = ()
        """What it reads as nobody's member, sorted."""
        self.positions: dict[Partition, Reading] = {}
        """Partitions that it reads, in the order in which it began."""
        self.unpositioned: tuple[Partition, ...] = ()
        """Partitions whose committed offsets it has to ask for, sorted."""
        self.fetching = False
        self.paused = False
        """Reading stands still while the commit before an eager rebalance is on its way."""
        self.reading = False
        """Whether the positions advance with time; else they are exactly their ``start``."""
        self.commit_due = False
        self.stored: tuple[tuple[Partition, int], ...] | None = None
        """What is committed where nobody says otherwise; None: the positions."""
        self.user_commit: Any = None
        """A commit of the user's that is tried again, and until when."""
        self.commit_outcome = ""
        """How the user's last commit came out."""

        # The user's loop.
        self.away = config.by_hand
        """It stands still."""
        self.called: Called | None = None
        """The user's listener that is being run, where that is the user's own."""
        self.frozen = False
        self.resume_at: Time | None = None
        """It handles records until then."""
        self.polled_at: Time = -1.0
        """When it polled last after it had handled records: it does nothing else at that moment."""
        self.batch_end: Time = 0.0
        """When a poll that returns too much will have been handled."""
        self.fatal = ""
        self.closing = ""
        """What close() waits for: ``commit``, ``leave``; empty: not closing."""
        self.closed = False

    def move(self, event: str, out: Outbox) -> None:
        """Take an edge of the table of states."""
        before = self.state
        self.state = CONSUMER.next_state(before, event)
        if before != self.state:
            out.observe(Transition("client", self.config.name, before, event, self.state))

    def request_rejoin(self, reason: str) -> None:
        """The next poll begins a rebalance, unless one is on its way."""
        if not self.rejoin:
            self.rejoin = True
            self.reason = reason
            self.metadata_fresh = False

    def copy(self) -> Self:
        """An independent copy."""
        made = object.__new__(type(self))
        for name in ConsumerState.__slots__:
            value = getattr(self, name)
            setattr(made, name, value.copy() if name in _MUTABLE else value)
        return made

    def key(self, now: Time) -> tuple[Any, ...]:
        """All that the consumer's behaviour depends on, as plain tuples, times relative to ``now``."""
        waiting = tuple(
            (self.correlation - number, each.to, each.kind.__name__, each.deadline - now, each.about)
            for number, each in self.waiting.items()
        )
        reading = tuple(
            (partition, each.start, each.since - now, each.per_record) for partition, each in self.positions.items()
        )
        deferred = tuple((type(message).__name__, message[1:], about) for message, about in self.deferred)
        plain = tuple(getattr(self, name) for name in _PLAIN)
        times = tuple(None if (at := getattr(self, name)) is None else at - now for name in _TIMES)
        memories = tuple([(name, self.memories[name]) for name in sorted(self.memories)])
        return (
            waiting,
            reading,
            deferred,
            memories,
            tuple(self.metadata.items()),
            tuple(self.racks.items()),
            (
                self.load.per_second,
                tuple([(each, since - now) for each, since in self.load.since.items()]),
                tuple([(each, at - now, n) for each, bursts in self.load.bursts.items() for at, n in bursts]),
            ),
            times,
            plain,
        )


_MUTABLE = frozenset({"waiting", "deferred", "positions", "memories"})
_TIMES = ("check_at", "prepare_deadline", "heard", "resume_at", "polled_at", "batch_end")
_PLAIN = tuple(
    name
    for name in ConsumerState.__slots__
    if name not in _MUTABLE and name not in _TIMES and name not in ("correlation", "metadata", "racks", "load")
)
