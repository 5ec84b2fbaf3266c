"""docs/atlas.md and its pictures, made of the atlas's data."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from compare.showing.pictures.charts import Picture
from tools.atlas import costs, pictures
from tools.atlas.figures import CHANGES, SHAPES_IN_WORDS, evenness, moved_share, percent, queues_of
from tools.atlas.markdown import picture, table
from tools.atlas.pictures import EVENTS_IN_WORDS
from tools.atlas.tables import OPTIMUM, Allocations, Events, Size

NO_OWNER: Final = " no owner"
LIMIT: Final = 1.1
"""Members are told to share evenly while the heaviest load is at most this many times the mean."""

_SOME_TOPICS, _SOME_QUEUES = (1, 4, 16), (4, 12, 32)


def drawings(allocations: Allocations, events: Events) -> Iterator[tuple[str, Picture]]:
    """Name of a file and picture."""
    for shape in allocations.shapes:
        yield f"heaviest-{shape}", pictures.ratios(allocations, shape)
        if pictures.losing(allocations, shape):
            yield f"unread-{shape}", pictures.unread(allocations, shape)
    yield "idle-equal", pictures.idle(allocations, "equal")
    for event in CHANGES:
        yield f"moved-{event}", pictures.moved(allocations, "equal", event)
    yield from costs.drawings(events)


def page(allocations: Allocations, events: Events) -> str:
    """The page."""
    return "\n".join(
        [
            *_begin(allocations, events),
            *_in_short(allocations, events),
            *_even(allocations),
            *_how_many(allocations),
            *_moved(allocations),
            *costs.section(events),
        ]
    )


def _begin(atlas: Allocations, events: Events) -> list[str]:
    groups = len(atlas.sizes) * len(atlas.shapes) * len(atlas.events)
    members, topics, queues = (_axis(each) for each in (atlas.members, atlas.topics, atlas.queues))
    runs = events.runs * len(events.variants) * len(events.events)
    return [
        "# The atlas of fairness\n",
        f"One group is an anecdote. The atlas compares up to {groups:,} groups under {len(atlas.strategies)}"
        f" strategies of both systems and at the [optimum](figures.md#optimum), and {runs:,} simulated runs of what a"
        " join, a crash and a deploy cost. It shows which strategy loses, where, and by how much, and how many members"
        " a group may have. First the busiest member's load as a multiple of the busiest member's at the optimum, where"
        " all members read all topics (white: as fair as possible):\n",
        next(_even_pictures(atlas, "equal")),
        "[`equipoise sweep`](sweep.md) made it from two grids in `examples/atlas`; `make atlas` computes them again and"
        " writes this page. For a finer grid, or groups of your own: `equipoise examples atlas --to .`, change the"
        " grid, and `equipoise sweep allocations.yaml --out rows --report rows.html`.\n",
        f"**Allocations**: {members} members; {topics} topics; {queues} queues per topic, on two brokers; subscriptions"
        f" {', '.join(f'*{shape}* ({SHAPES_IN_WORDS[shape]})' for shape in atlas.shapes)}; as they are, and after"
        f" {', '.join(EVENTS_IN_WORDS[change] for change in CHANGES)}.\n",
    ]


def _axis(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _in_short(atlas: Allocations, events: Events) -> list[str]:
    def fair(variant: str, shape: str) -> str:
        return _evenness(atlas, variant, shape)[0]

    def lost(shape: str) -> str:
        return _evenness(atlas, "rocketmq:AVG", shape)[1].removesuffix(NO_OWNER)

    def joined(variant: str) -> str:
        return _moved_share(atlas, variant, "join")

    def cost(variant: str, event: str, name: str) -> str:
        return costs.short(events.costs[variant, event][name].median or 0.0)

    gap, unowned, twice = "event_longest_gap_s", "event_unowned_queue_s", "redelivered"
    lines = [
        "`range`, `server-range` and RocketMQ's strategies share every topic separately, so remainders add up. With"
        f" equal subscriptions {fair('kafka:range', 'equal')} of the groups are as fair as possible under `range` and"
        " AVG, and members beyond the number of queues of *one* topic are idle. `sticky`, `cooperative-sticky` and"
        " `uniform` are as fair as possible in every group of the atlas; `roundrobin` is where members read the same"
        " topics or have none in common.",
        "RocketMQ's strategies ignore subscriptions. Where members of a group read different topics, queues"
        f" have no reader: under AVG {lost('nested')} with nested subscriptions, {lost('disjoint')} with disjoint"
        " ones.",
        f"A join moves {joined('kafka:sticky')} of the queues under `sticky`, the fewest possible;"
        f" {joined('kafka:range')} under `range` and AVG, {joined('rocketmq:AVG_BY_CIRCLE')} under AVG_BY_CIRCLE,"
        f" {joined('kafka:roundrobin')} under `roundrobin`.",
        f"A crash leaves queues without an owner for {cost('kafka:range', 'crash', gap)} s in Kafka, which waits for"
        f" the session to expire, and for {cost('rocketmq:AVG', 'crash', gap)} s in RocketMQ, whose brokers see that"
        " the connection has closed.",
        f"A deploy costs {cost('kafka:range', 'deploy', unowned)} queue-seconds without an owner under `range`,"
        f" {cost('kafka:cooperative-sticky', 'deploy', unowned)} under `cooperative-sticky`,"
        f" {cost('rocketmq:AVG', 'deploy', unowned)} under AVG; under AVG"
        f" {cost('rocketmq:AVG', 'deploy', twice)} records are handled twice, under Kafka's strategies next to none.",
    ]
    return ["## In short\n", "".join(f"- {line}\n" for line in lines)]


# How even.


def _even(atlas: Allocations) -> list[str]:
    rows = [
        [variant, *(cell for shape in atlas.shapes for cell in _evenness(atlas, variant, shape))]
        for variant in atlas.strategies
    ]
    heads = ["strategy", *(word for shape in atlas.shapes for word in (f"{shape}: fairest", "worst"))]
    return [
        "## Where which strategy loses\n",
        "*Fairest*: the share of groups that are as fair as their subscriptions allow, with one owner for every queue."
        " *Worst*: the heaviest load divided by the heaviest at the optimum, in the worst group. RocketMQ's strategies"
        " ignore subscriptions: where members read different topics, a member gets queues of topics that it does not"
        " read, and those have no reader (*no owner*).\n",
        table(heads, rows),
        *[picture for shape in atlas.shapes for picture in _even_pictures(atlas, shape)][1:],
    ]


def _even_pictures(atlas: Allocations, shape: str) -> Iterator[str]:
    yield picture(f"heaviest-{shape}", f"Heaviest load over the best possible one, {shape}")
    if pictures.losing(atlas, shape):
        yield picture(f"unread-{shape}", f"Queues that nobody reads, {shape}")


def _evenness(atlas: Allocations, variant: str, shape: str) -> tuple[str, str]:
    found = evenness(variant, shape, atlas)
    worst = f"{percent(found.unowned)}{NO_OWNER}" if found.unowned else f"{found.worst:.1f}"
    return percent(found.fairest), worst


# How many members.


def _how_many(atlas: Allocations) -> list[str]:
    sizes = [(topics, queues) for topics in _SOME_TOPICS for queues in _SOME_QUEUES]
    heads = ["strategy", *(f"{topics} x {queues}" for topics, queues in sizes)]
    busy = _rows(atlas, sizes, _all_busy)
    even = _rows(atlas, sizes, _even_counts)
    return [
        "## How many members for my topics\n",
        "All members read all topics. The heads are topics x queues per topic; groups have"
        f" {_axis(atlas.members)} members.\n",
        "**The most members that all have work**: of more members some are idle.\n",
        table(heads, busy),
        f"**Numbers of members that share evenly**: the heaviest load is at most {LIMIT} times the mean.\n",
        table(heads, even),
        picture("idle-equal", "Members that idle though there is a queue for them"),
    ]


def _rows(
    atlas: Allocations, sizes: Sequence[tuple[int, int]], cell: Callable[[Sequence[tuple[Size, int, int]]], str]
) -> list[list[str]]:
    """A row per strategy; ``cell`` is told (size, heaviest load, idle members) for each number of members."""
    rows = []
    for variant in atlas.strategies:
        most, idle = atlas.of(variant, "equal", "max"), atlas.of(variant, "equal", "idle")
        row = [variant]
        for topics, queues in sizes:
            told = [
                (size, heavy, none)
                for size, heavy, none in zip(atlas.sizes, most, idle, strict=True)
                if (size.topics, size.queues) == (topics, queues) and heavy is not None and none is not None
            ]
            row.append(cell(told))
        rows.append(row)
    return rows


def _all_busy(told: Sequence[tuple[Size, int, int]]) -> str:
    busy = [size.members for size, _, idle in told if not idle]
    most = max(busy)
    return f"{most}" if most < told[-1][0].members else f"{most} or more"


def _even_counts(told: Sequence[tuple[Size, int, int]]) -> str:
    even = [size.members for size, heavy, _ in told if heavy * size.members <= LIMIT * queues_of(size, "none")]
    return ", ".join(map(str, even))


# What moves.


def _moved(atlas: Allocations) -> list[str]:
    rows = [
        [variant, *(_moved_share(atlas, variant, event) for event in CHANGES)]
        for variant in (*atlas.strategies, OPTIMUM)
    ]
    return [
        "## How many queues move\n",
        "Of all queues of all groups whose members read every topic, the share that has another owner after the event."
        " The optimum moves as few as possible.\n",
        table(["strategy", *(EVENTS_IN_WORDS[event] for event in CHANGES)], rows),
        *(picture(f"moved-{event}", f"Queues that move when {EVENTS_IN_WORDS[event]}") for event in CHANGES),
    ]


def _moved_share(atlas: Allocations, variant: str, event: str) -> str:
    return f"{100 * moved_share(variant, event, atlas):.1f} %"
