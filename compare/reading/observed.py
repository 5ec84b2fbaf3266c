"""What a reader found: groups as far as the text tells. What a text cannot tell is None, never guessed.

What the readers of both systems share: blocks (the output of one view of one tool, from its header line to the next
one), rows that are none, facts sorted by group. Facts about one name belong together wherever they come from, unless
they contradict each other: two folders that show different members under one name hold the output of two clusters, and
their groups stay apart.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath
from typing import Generic, Literal, TypeVar

from protocols import Queue
from protocols.timeline.trace import queue_name

System = Literal["kafka", "rocketmq"]
Mode = Literal["shared", "broadcasting", "pop", "share"]
"""How a group gets its records: members share queues, or each reads all, or records are given one by one."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be read: where, and what was expected there. ``line`` counts from 1. ``hides_groups``:
    groups that are there may be missing because of it."""

    source: str
    line: int | None
    why: str
    hides_groups: bool = False


@dataclass(frozen=True, slots=True)
class ObservedMember:
    """A member; ``id`` is Kafka's CONSUMER-ID or RocketMQ's client id.

    ``owned`` is None where the text does not tell what it owns (not even by elimination); ``queue_count`` is then
    how many queues it owns, if told.
    """

    id: str
    owned: tuple[Queue, ...] | None
    client_id: str | None = None
    instance_id: str | None = None
    host: str | None = None
    subscription: tuple[str, ...] | None = None
    queue_count: int | None = None


@dataclass(frozen=True, slots=True)
class Partial:
    """What the sources leave out of a group that they tell in part.

    ``topics``: topics that a member subscribes to and of whose queues too little is told: what members own of them is
    told in part or not at all, also where `ObservedMember.owned` tells what they own of the other topics.
    ``members``: ids of members of whom it is not told what they own, or whether they own more than what is shown;
    ``why``: one sentence that names the reason.
    """

    topics: tuple[str, ...]
    members: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A group of a real cluster, all sources about it joined.

    ``members``: None where no text lists them completely; () where the text says that there are none. A RocketMQ
    client id that two processes share is there once per connection.
    ``queues``: every queue of the topics that the group reads, as far as told, sorted; None where not told.
    ``lag``: committed to end offset per queue, None where there is no commit. ``strategy``: one of the design's
    names, or what the tool printed if it is none of ours. ``notes``: one sentence each, for people.
    Where ``members`` is None: ``seen`` are those that the text shows nevertheless, ``member_count`` is how many there
    are and ``idle_count`` how many of them own nothing, if told without their names; ``owners_seen``: whoever owns a
    queue is among them, with all that he owns. ``unowned``: queues that nobody owns, where the text tells so; it may
    although it does not tell what each member owns. ``strategies``: all that
    members are told to use, one by one. ``subscriptions_differ``: members are told to subscribe to different topics.
    ``members_disagree``: all of them answer, and yet some queues are shown without owner.
    ``partial``: what is missing where the sources tell a part only. ``consumer_protocol``: whether the group is one of
    Kafka's consumer protocol (KIP-848), None where nothing tells. ``orderly``: whether a RocketMQ member says that it
    consumes in order, None where nobody was asked. ``compacted``: topics that are told to be compacted.
    ``only_offsets``: the group is told to be of the type that stores offsets for consumers that call assign().
    ``moving``: ids of members that are told to have not reached their target assignment yet (consumer protocol), () if
    all have, None where it is not told. ``classic_members``: ids of members of a consumer-protocol group that speak
    the classic protocol still.
    ``missing_topics``: topics that a member subscribes to and of which the cluster says that they do not exist.
    ``instances_told``: a members view is there, which shows who is static (Kafka).
    ``seems_deserted``: no source lists members, and the one that shows owners shows none (RocketMQ).
    ``ends``: where each queue with a lag ended when it was read, as far as told. ``coordinator``: the broker that runs
    a Kafka group, as its tools write it. ``epoch``: the epoch of a consumer-protocol group, which grows by one with
    each rebalance. ``generation``: of a classic group, one above the highest generation from which a member has joined:
    most clients tell it, and the group's own is not lower. ``broker_settings``: ids of the cluster's brokers, as far as
    told, to their settings; none of a broker that did not tell them. ``endless``: queues of which
    nobody tells where they end, because no broker leads them (Kafka: those with a committed offset) or theirs does not
    answer (RocketMQ): how much waits there is unknown.
    """

    system: System
    name: str
    mode: Mode
    state: str | None
    strategy: str | None
    members: tuple[ObservedMember, ...] | None
    queues: tuple[Queue, ...] | None
    lag: Mapping[Queue, int | None] = field(default_factory=dict)
    rates: Mapping[Queue, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seen: tuple[ObservedMember, ...] = ()
    member_count: int | None = None
    idle_count: int | None = None
    owners_seen: bool = False
    unowned: tuple[Queue, ...] | None = None
    strategies: tuple[str, ...] = ()
    subscriptions_differ: bool = False
    members_disagree: bool = False
    partial: Partial | None = None
    consumer_protocol: bool | None = None
    orderly: bool | None = None
    compacted: tuple[str, ...] = ()
    only_offsets: bool = False
    moving: tuple[str, ...] | None = None
    classic_members: tuple[str, ...] = ()
    missing_topics: tuple[str, ...] = ()
    seems_deserted: bool = False
    instances_told: bool = False
    ends: Mapping[Queue, int] = field(default_factory=dict)
    coordinator: str | None = None
    epoch: int | None = None
    generation: int | None = None
    broker_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    endless: tuple[Queue, ...] = ()


def names_of(members: Sequence[ObservedMember]) -> list[str]:
    """What people are told of members: their client ids; of several that have the same, or one that a scenario reads
    otherwise (empty, or a range such as c1..c4), their instance ids, else their own."""
    times = Counter(name for member in members for name in {member.client_id, member.instance_id, member.id})

    def name(member: ObservedMember) -> str:
        told = (member.client_id, member.instance_id)
        return next((each for each in told if each and times[each] == 1 and ".." not in each), member.id)

    return [name(member) for member in members]


@dataclass(frozen=True, slots=True)
class Command:
    """The command line of a tool that stands before its output in a pasted text, and what its options name."""

    tool: str
    group: str | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source's text. ``name`` is what messages call it; ``given_group`` comes from ``NAME=FILE``.

    ``folder`` and ``stem`` are the names of its folder and of the file without endings ("" for standard input):
    one of them stands in where the text does not name the group.
    Of pasted text, ``lines`` are what is left of it without its decoration: ``numbers`` are then their places (from 1)
    in the file, and ``command`` is the command line above them.
    """

    name: str
    lines: tuple[str, ...]
    given_group: str | None = None
    folder: str = ""
    stem: str = ""
    numbers: tuple[int, ...] | None = None
    command: Command | None = None

    @property
    def told_group(self) -> str | None:
        """The group that the command line names, else the one of ``NAME=FILE``: the command is nearer to its output."""
        return (self.command and self.command.group) or self.given_group


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of one view; ``lines[0]`` is the header, which is the ``first`` one (from 1) of its source's lines."""

    source: SourceText
    first: int
    lines: tuple[str, ...]

    def number(self, offset: int) -> int:
        """Where the line ``offset`` lines below the header stands in the file, from 1."""
        at = self.first + offset
        return at if self.source.numbers is None else self.source.numbers[at - 1]


@dataclass(frozen=True, slots=True)
class BlockKind:
    """A view that a reader knows. ``starts`` recognises its first line (the header, not the file name).

    ``parse`` yields the reader's own facts, and `Skipped` for lines that it cannot read. ``aside``: its lines may
    stand in the middle of the system's other views, whose blocks go on.
    """

    system: System
    name: str
    starts: Callable[[str], bool]
    parse: Callable[[Block], Iterable[object]]
    aside: bool = False


def split(source: SourceText, kinds: Sequence[BlockKind]) -> Iterator[tuple[BlockKind | None, Block]]:
    """The blocks of a source in order; kind None for non-blank text that precedes every known header."""
    kind: BlockKind | None = None
    start = 0
    for position, line in enumerate(source.lines):
        found = next((block_kind for block_kind in kinds if block_kind.starts(line)), None)
        if found is not None and not (found.aside and kind is not None and kind.system == found.system):
            yield from _block(kind, source, start, position)
            kind, start = found, position
    yield from _block(kind, source, start, len(source.lines))


def _block(
    kind: BlockKind | None, source: SourceText, start: int, end: int
) -> Iterator[tuple[BlockKind | None, Block]]:
    lines = source.lines[start:end]
    if kind is None:
        blank = next((n for n, line in enumerate(lines) if line.strip()), None)
        if blank is None:
            return
        start, lines = start + blank, lines[blank:]
    yield kind, Block(source, start + 1, lines)


def skipped(block: Block, offset: int, why: str) -> Skipped:
    """`Skipped` for the line ``offset`` lines below the block's header."""
    return Skipped(block.source.name, block.number(offset), why)


def most_lag(lag: Mapping[Queue, int | None], records: str) -> str | None:
    """Which of several queues has more than half of their ``records`` (what they are), in a sentence without stop; None
    where none has."""
    found = {queue: each for queue, each in lag.items() if each}
    total = sum(found.values())
    worst = max(found, key=lambda queue: found[queue], default=None)
    if worst is None or len(lag) < 2 or found[worst] * 2 <= total:
        return None
    return f"{found[worst]:,} of {total:,} {records} are in {queue_name(worst)}"


class RowError(Exception):
    """A line that does not hold what its header promises; the text says what was expected."""


def quoted(text: str, most: int = 60) -> str:
    """A quotation of what the text holds, cut behind ``most`` characters."""
    return repr(shortened(text.strip(), most))


def shortened(text: str, most: int) -> str:
    """The text, cut where it is longer than ``most`` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


@lru_cache(maxsize=1024)  # a source tells of thousands of facts, one after the other
def folder_of(source: str) -> str:
    """The path of a source's folder."""
    return str(PurePath(source).parent)


Fact = TypeVar("Fact")


@dataclass(slots=True)
class FactGroup(Generic[Fact]):
    """The facts about one group in the order of their sources, the places (folders) they come from, and the ids of
    members that they show."""

    group: str
    facts: list[Fact]
    places: list[str]
    ids: set[str]


def fact_groups(
    facts: Iterable[tuple[str, str, Fact]], ids_of: Callable[[Fact], Iterable[str]]
) -> list[FactGroup[Fact]]:
    """The groups of (name, source, fact), by first mention; places that contradict each other are groups apart."""
    by_name: dict[str, dict[str, list[Fact]]] = {}
    for name, source, fact in facts:
        by_name.setdefault(name, {}).setdefault(folder_of(source), []).append(fact)
    groups: list[FactGroup[Fact]] = []
    for name, by_place in by_name.items():
        of_name: list[FactGroup[Fact]] = []
        for place, of_place in by_place.items():
            ids = {id for fact in of_place for id in ids_of(fact)}
            for group in of_name:
                if not ids or not group.ids or not ids.isdisjoint(group.ids):
                    group.facts += of_place
                    group.places.append(place)
                    group.ids |= ids
                    break
            else:
                of_name.append(FactGroup(name, of_place, [place], ids))
        groups += of_name
    return groups
