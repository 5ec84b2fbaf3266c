"""What the views of Kafka's tools tell, one record per table or line. `join` puts them together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from compare.reading.observed import ObservedMember
from protocols import Queue

View = Literal["state", "list", "notice"]


class Client(NamedTuple):
    """Who stands behind a consumer id."""

    client_id: str | None
    host: str | None


@dataclass(frozen=True, slots=True)
class OffsetsTable:
    """Offsets view of one group: ``owned`` queues per CONSUMER-ID, and ``unowned`` ones that only have a commit.

    ``lag`` is None where there is no commit; ``complete`` is False if rows could not be read; ``ends``: where the
    partitions with a lag end; ``endless``: partitions with a commit, of which it is not told where they end.
    """

    source: str
    group: str
    owned: Mapping[str, tuple[Queue, ...]]
    unowned: tuple[Queue, ...]
    lag: Mapping[Queue, int | None]
    clients: Mapping[str, Client]
    complete: bool
    ends: Mapping[Queue, int] = field(default_factory=dict)
    endless: tuple[Queue, ...] = ()


@dataclass(frozen=True, slots=True)
class MembersTable:
    """Members view of one group. ``assigned``: it is the verbose form, which tells what each member owns.

    ``targets`` are the queues of all target assignments; ``consumer_protocol`` is None where the table does not tell.
    ``moving``: ids of members that have not reached their target assignment, None where the table does not tell;
    ``classic``: ids of those that are told not to be upgraded to the consumer protocol, ``upgraded`` of those that are.
    """

    source: str
    group: str
    members: tuple[ObservedMember, ...]
    assigned: bool
    targets: tuple[Queue, ...]
    consumer_protocol: bool | None
    complete: bool
    moving: tuple[str, ...] | None = None
    classic: tuple[str, ...] = ()
    upgraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupState:
    """What the state view, a listing or a notice says of a group; None where it does not say.

    ``only_offsets``: no protocol is told of it, so that it only stores offsets for consumers that call assign().
    ``coordinator``, ``epoch``, ``generation``: see `compare.reading.observed.ObservedGroup`. ``racks``: of its members
    (classic protocol), as far as they tell them.
    """

    source: str
    group: str
    view: View
    state: str | None = None
    strategy: str | None = None
    members: int | None = None
    consumer_protocol: bool | None = None
    only_offsets: bool | None = None
    coordinator: str | None = None
    epoch: int | None = None
    generation: int | None = None
    racks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherGroup:
    """A group whose id is none of a consumer group's or share group's: a streams group, or one of other software."""

    source: str
    group: str


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """What one view tells of a share group; None, or nothing, where it does not tell.

    ``members``: with the partitions from which each may take records, or with their number; ``count``: how many there
    are. ``starts``: of each partition the start offset that the persister was told last, ``lag``: records that have not
    ended. ``complete`` is False if rows could not be read.
    """

    source: str
    group: str
    members: tuple[ObservedMember, ...] | None = None
    starts: Mapping[Queue, int | None] = field(default_factory=dict)
    lag: Mapping[Queue, int | None] = field(default_factory=dict)
    state: str | None = None
    count: int | None = None
    coordinator: str | None = None
    epoch: int | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class TopicQueues:
    """A topic with its partition numbers. ``compacted``: whether its settings say that it is."""

    source: str
    topic: str
    numbers: tuple[int, ...]
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """A broker's settings by name, those that it was not given with their defaults; none where it does not tell them
    to the one who asks. ``broker``: its id."""

    source: str
    broker: str
    settings: Mapping[str, str]


Fact = OffsetsTable | MembersTable | GroupState | ShareGroup | OtherGroup | TopicQueues | BrokerSettings
