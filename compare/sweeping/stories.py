"""The names that a grid may list: subscription shapes, which say what members read, and events, which say what happens
to a group, as changes of it and as events of a scenario."""

from collections.abc import Callable, Mapping

GROUP = "group"
"""The name of the group."""

Reads = Callable[[int, int, int, int], bool]
"""(member, topic, members, topics): whether the member reads the topic. Members are numbered 0 to M - 1, topics 0 to
T - 1. Whoever joins later subscribes as the last member does."""


def _equal(member: int, topic: int, members: int, topics: int) -> bool:
    return True


def _skewed(member: int, topic: int, members: int, topics: int) -> bool:
    return topic == 0 or member % 2 == 0


def _disjoint(member: int, topic: int, members: int, topics: int) -> bool:
    return member % topics == topic if members >= topics else topic % members == member


def _nested(member: int, topic: int, members: int, topics: int) -> bool:
    return member >= topic * members // topics


SHAPES: Mapping[str, Reads] = {"equal": _equal, "skewed": _skewed, "disjoint": _disjoint, "nested": _nested}
"""Shape to its rule. ``equal``: all read every topic. ``skewed``: all read the first topic, every second member the
others as well. ``disjoint``: the group falls into parts that have no topic in common. ``nested``: each member reads the
topics of the one before it, and maybe more; the last one reads all."""


def subscription(shape: str, member: int, members: int, topics: int) -> tuple[int, ...]:
    """The topics that a member reads, ascending; a ``member`` beyond the last one reads what the last one reads."""
    reads, like = SHAPES[shape], min(member, members - 1)
    return tuple(topic for topic in range(topics) if reads(like, topic, members, topics))


OF_ALLOCATIONS = ("none", "join", "leave", "grow")
"""``none``; one member more joins, who reads what the last one reads; the middle member leaves; every topic gets twice
as many queues."""

GROWTH = 2
"""Times as many queues."""

HUNG_MS = 120_000
"""How long a member hangs."""

GAP_MS, DOWNTIME_MS = 20_000, 5_000
"""In a deploy: from the restart of a member to the next, and how long each is away."""


def member_name(number: int) -> str:
    """The name of a member, such that names are in the order of numbers."""
    return f"m{number + 1:04d}"


def topic_name(number: int) -> str:
    return f"t{number + 1:06d}"


def leaving(members: int) -> int:
    """The number of the member who leaves or crashes: the one in the middle."""
    return members // 2


Fields = dict[str, object]


def _join(at: float, members: int, topics: int, queues: int, shape: str) -> list[Fields]:
    read = [topic_name(each) for each in subscription(shape, members, members, topics)]
    return [{"at": at, "join": member_name(members), "subscribe": read}]


def _of_one(event: str, **more: object) -> "Story":
    def told(at: float, members: int, topics: int, queues: int, shape: str) -> list[Fields]:
        return [{"at": at, event: member_name(leaving(members)), **more}]

    return told


def _deploy(at: float, members: int, topics: int, queues: int, shape: str) -> list[Fields]:
    everybody = [member_name(number) for number in range(members)]
    return [{"at": at, "rolling": everybody, "gap": float(GAP_MS), "downtime": float(DOWNTIME_MS)}]


def _grow(at: float, members: int, topics: int, queues: int, shape: str) -> list[Fields]:
    return [{"at": at, "queues": {topic_name(number): GROWTH * queues for number in range(topics)}}]


def _none(at: float, members: int, topics: int, queues: int, shape: str) -> list[Fields]:
    return []


Story = Callable[[float, int, int, int, str], list[Fields]]
"""(time in milliseconds, members, topics, queues per topic, shape) to a scenario's events."""

OF_SIMULATIONS: Mapping[str, Story] = {
    "none": _none,
    "join": _join,
    "leave": _of_one("leave"),
    "crash": _of_one("crash"),
    "hang": _of_one("hang", **{"for": float(HUNG_MS)}),
    "deploy": _deploy,
    "grow": _grow,
}
"""Name to what happens: as in `OF_ALLOCATIONS`; besides, the middle member crashes, or hangs for `HUNG_MS`, and all
members are restarted one after the other."""
