"""More queues for a topic: only as many as help, at which broker, and what that breaks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, filterfalse, islice

from compare.audit.finding import Case, named, several
from compare.audit.model import Modelled
from compare.audit.remedies.remedy import LIGHT, SERIOUS, Remedy, Risk
from compare.audit.what_if import under
from compare.best import optimum
from protocols import Allocation, Group, Queue, sort_queues

_INTERNAL = ("-changelog", "-repartition")
_CONNECT = ("connect-configs", "connect-offsets", "connect-status", "_schemas")
MOST_SHOWN = 3
"""Topics whose arithmetic is written out in the sentence; the commands name all."""


def is_compacted(case: Case, topic: str) -> bool:
    """Whether the topic is told to be compacted, or is called like one that always is."""
    return topic in case.observed.compacted or topic.endswith(_INTERNAL) or topic in _CONNECT or topic.startswith("__")


def may_grow(case: Case, topic: str) -> bool:
    """Whether more queues can be thought of: never where keys must stay in their partition."""
    return case.kind not in ("streams", "ksqldb", "unknown", "assign") and not is_compacted(case, topic)


def one_for_each_member(case: Case, modelled: Modelled, needed: int) -> Remedy | None:
    """The largest topic that may grow gets ``needed`` queues, so that every member has one."""
    topics = [topic for topic in modelled.group.topics if may_grow(case, topic)]
    if not topics:
        return None
    topic = max(topics, key=lambda each: len(modelled.group.topics[each]))
    if len(modelled.group.topics[topic]) < max(map(len, modelled.group.topics.values())):
        # Of a smaller topic it would take more queues than were counted.
        needed = len(modelled.group.members)
    return _grow(case, modelled, {topic: needed}, f"{several(len(modelled.group.members), 'member')}, one queue each")


def multiples(case: Case, modelled: Modelled, odd: Sequence[str], strategy: str | None = None) -> Remedy | None:
    """Topics get a multiple of the members' number of queues, those that need fewest more first, until the group is as
    even as its fairest allocation today. ``strategy``, today's where left out, is one that deals every
    topic from the first member on."""
    group = modelled.group
    members = len(group.members)
    wanted: dict[str, int] = {}
    for topic in odd:
        if may_grow(case, topic):
            brokers = len({queue.broker for queue in group.topics[topic]})
            per_broker = max(_by_broker(group.topics[topic]).values())
            while per_broker * brokers % members:
                per_broker += 1
            wanted[topic] = per_broker * brokers
    counts = {topic: len(queues) for topic, queues in group.topics.items()}
    enough = max(case.best) * members / max(1, sum(case.best))
    taken: dict[str, int] = {}
    for topic in sorted(wanted, key=lambda each: (wanted[each] - counts[each], each)):
        loads = _dealt_by_topic(counts, members)
        if max(loads) * members <= enough * sum(loads) and loads.count(0) <= list(case.best).count(0):
            break
        counts[topic] = taken[topic] = wanted[topic]
    if not taken:
        return None
    why = f"a multiple of {members} for {members} members"
    return _grow(case, modelled, taken, why, strategy)


def _dealt_by_topic(counts: Mapping[str, int], members: int) -> list[int]:
    return [sum(each // members + (at < each % members) for each in counts.values()) for at in range(members)]


def _grow(case: Case, modelled: Modelled, wanted: Mapping[str, int], why: str, strategy: str | None = None) -> Remedy:
    group = modelled.group
    topics = dict(group.topics)
    sums, commands = [], []
    for topic, total in wanted.items():
        before = _by_broker(group.topics[topic])
        topics[topic] = _grown(topic, group.topics[topic], total)
        after = _by_broker(topics[topic])
        if case.is_kafka:
            sums.append(f"{topic} from {len(group.topics[topic])} to {total} partitions")
            commands.append(f"kafka-topics.sh --bootstrap-server HOST --alter --topic {topic} --partitions {total}")
            continue
        at = ", ".join(f"{broker} {before[broker]} -> {number}" for broker, number in after.items())
        sums.append(f"{topic} from {sum(before.values())} to {sum(after.values())} queues ({at})")
        commands += [
            f"mqadmin updateTopic -n NAMESRV -b ADDRESS_OF_{broker} -t {topic} -r {number} -w {number}"
            for broker, number in after.items()
            if number != before[broker]
        ]
    shown = "; ".join(sums[:MOST_SHOWN]) + (f"; and {len(sums) - MOST_SHOWN} more" if len(sums) > MOST_SHOWN else "")
    expected = _expected(case, modelled, replace(group, topics=topics), strategy or case.observed.strategy)
    return Remedy(
        f"Give {several(len(wanted), 'topic')} more {'partitions' if case.is_kafka else 'queues'}: {shown}; {why}."
        f" {commands[0]}",
        tuple(commands),
        "none",
        not case.is_kafka,
        tuple(_risks(case, list(wanted))),
        case.gain(expected),
        expected,
    )


def _expected(case: Case, modelled: Modelled, grown: Group, strategy: str | None) -> Allocation:
    after = replace(modelled, group=grown, today=Allocation(grown, dict(modelled.today.items())))
    answer = under(after, strategy) if strategy in case.usable and strategy is not None else None
    return optimum(grown, moves=False).allocation if answer is None else answer


def _risks(case: Case, topics: Sequence[str]) -> list[Risk]:
    what = ", which the members consume in order," if case.kind == "orderly" else ""
    found = [
        Risk(
            f"the order per key is lost: records of a key{what} go to another queue from then on, while earlier ones"
            " still wait",
            SERIOUS,
        )
    ]
    others = sorted({name for topic in topics for name in case.others_reading(topic)})
    if others:
        reads = several(len(others), "other group reads", "other groups read")
        found.append(Risk(f"{reads} {named(topics)}, too: {named(others)}", LIGHT))
    else:
        found.append(Risk(f"other groups may read {named(topics)}, of which the sources tell nothing", LIGHT))
    if case.is_kafka:
        found.append(
            Risk(
                "consumers notice new partitions within metadata.max.age.ms (5 minutes), and with"
                " auto.offset.reset=latest skip what was written there before",
                LIGHT,
            )
        )
        found.append(Risk("a compacted topic keeps old values of moved keys for good (check cleanup.policy)", LIGHT))
    else:
        found.append(Risk("updateTopic sets permission and order flag anew: repeat -p and -o as they are", LIGHT))
    return found


def _by_broker(queues: Sequence[Queue]) -> dict[str, int]:
    found: dict[str, int] = {}
    for queue in queues:
        found[queue.broker] = found.get(queue.broker, 0) + 1
    return found


def _grown(topic: str, queues: Sequence[Queue], total: int) -> tuple[Queue, ...]:
    """The topic with so many queues at least, the same number at each broker; new ones take free numbers first."""
    numbers: dict[str, set[int]] = {}
    for queue in queues:
        numbers.setdefault(queue.broker, set()).add(queue.number)
    per_broker = max(-(-total // len(numbers)), max(map(len, numbers.values())))
    new = [
        Queue(topic, broker, number)
        for broker, taken in numbers.items()
        for number in islice(filterfalse(taken.__contains__, count()), per_broker - len(taken))
    ]
    return sort_queues([*queues, *new])
