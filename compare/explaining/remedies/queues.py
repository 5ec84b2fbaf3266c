"""More queues for a topic: only as many as help, at which broker, and what that breaks.

RocketMQ: another strategy in every client, or lists made by hand.

Fewer members: the ones too many do nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, filterfalse, islice
from shlex import quote

from compare.auditing.score import IDLE
from compare.auditing.what_if import loads_of, under
from compare.catalogues import ROCKETMQ, ROCKETMQ_CLASSES
from compare.documents.audit import Restart
from compare.explaining.finding import Case, named, over_mean
from compare.explaining.remedies.remedy import GRAVE, LIGHT, SERIOUS, Gain, Remedy, Risk
from compare.formatting import several
from compare.optima import optimum
from compare.reading.group_kinds import STREAMS
from compare.reading.group_model import Modelled
from compare.reading.observed import names_of
from protocols import Allocation, Group, Queue, sort_queues

_INTERNAL = ("-changelog", "-repartition")
_ROCKETMQS_OWN = ("%", "RMQ_SYS_", "rmq_sys_", "SCHEDULE_TOPIC_", "TBW102")
_CONNECT = ("connect-configs", "connect-offsets", "connect-status", "_schemas")
MOST_SHOWN = 3
"""Topics whose arithmetic is written out in the sentence; the commands name all."""


def is_compacted(case: Case, topic: str) -> bool:
    """Whether the topic is told to be compacted, or is called like one that always is."""
    return topic in case.observed.compacted or topic.endswith(_INTERNAL) or topic in _CONNECT or topic.startswith("__")


def may_grow(case: Case, topic: str) -> bool:
    """Whether more queues can be thought of: never where keys must stay in their partition, nor where a Streams
    application reads the topic, which would stop with an error."""
    if case.kind in (*STREAMS, "unknown", "assign") or any(
        reader.kind in STREAMS for reader in case.others_reading(topic)
    ):
        return False
    if not case.is_kafka and topic.startswith(_ROCKETMQS_OWN):
        return False
    return not is_compacted(case, topic)


def one_for_each_member(case: Case, modelled: Modelled, needed: int) -> Remedy | None:
    """The largest topic that may grow gets ``needed`` queues, so that every member has one."""
    topics = [topic for topic in modelled.group.topics if may_grow(case, topic)]
    if not topics or not modelled.alike:
        # Whoever is idle may not read the topic that would grow.
        return None
    topic = max(topics, key=lambda name: len(modelled.group.topics[name]))
    if len(modelled.group.topics[topic]) < max(map(len, modelled.group.topics.values())):
        # Of a smaller topic it would take more queues than were counted.
        needed = len(modelled.group.members)
    grown = _grow(
        case,
        modelled,
        {topic: needed},
        f"{several(len(modelled.group.members), 'member')}, one {'partition' if case.is_kafka else 'queue'} each",
    )
    # A strategy that deals by hash may pass a member by all the same.
    return None if grown.after is None or 0 in loads_of(grown.after) else grown


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
    return [sum(count // members + (at < count % members) for count in counts.values()) for at in range(members)]


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
            alter = f"kafka-topics.sh --bootstrap-server HOST --alter --topic {quote(topic)} --partitions {total}"
            commands.append(alter)
            continue
        at = ", ".join(f"{broker} {before[broker]} -> {number}" for broker, number in after.items())
        sums.append(f"{topic} from {sum(before.values())} to {sum(after.values())} queues ({at})")
        commands += [
            f"mqadmin updateTopic -n NAMESRV -b {quote('ADDRESS_OF_' + broker)} -t {quote(topic)}"
            f" -r {number} -w {number}"
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
    others = sorted({reader.name for topic in topics for reader in case.others_reading(topic)})
    in_order = {reader.name for topic in topics for reader in case.others_reading(topic) if reader.kind == "orderly"}
    who = "which the members consume in order" if case.kind == "orderly" else ""
    if in_order and not who:
        who = f"which {named(sorted(in_order))} consume in order" if len(in_order) > 1 else ""
        who = who or f"which {named(sorted(in_order))} consumes in order"
    keys = f"records of a key, {who}," if who else "records of a key"
    found = [
        Risk(
            f"the order per key is lost: new {keys} go to another {'partition' if case.is_kafka else 'queue'},"
            " while earlier ones still wait",
            GRAVE if who else SERIOUS,
        )
    ]
    if others:
        reads = several(len(others), "other group reads", "other groups read")
        found.append(Risk(f"{reads} {named(topics)}, too: {named(others)}", LIGHT))
    else:
        found.append(Risk(f"groups that no source shows may read {named(topics)}, too", LIGHT))
    return found + (_of_kafka() if case.is_kafka else _of_rocketmq())


def _of_kafka() -> list[Risk]:
    return [
        Risk(
            "consumers notice new partitions within metadata.max.age.ms (5 minutes), and with"
            " auto.offset.reset=latest skip records written there before",
            LIGHT,
        ),
        Risk("a compacted topic keeps the old values of moved keys forever (check cleanup.policy)", LIGHT),
        Risk(
            "a stateful Kafka Streams application that reads the topic stops with an error, because its internal"
            " topics keep the old number of partitions",
            LIGHT,
        ),
    ]


def _of_rocketmq() -> list[Risk]:
    return [
        Risk(
            "updateTopic overwrites the permission and the order flag: repeat -p and -o with their current values",
            LIGHT,
        ),
        Risk("consumers read new queues up to 50 seconds after the first records arrive there", LIGHT),
        Risk(
            "undoing the change needs two steps: lower -w first, and -r only after the removed queues are read to"
            " their end, because records left there become unreachable",
            LIGHT,
        ),
    ]


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


WORTH_LISTS = 10.0
"""Points of the score from which on lists made by hand are mentioned at all."""


_OF_CHANGING = (
    Risk(
        "members with the old and the new strategy at the same time leave queues without an owner and with two, so"
        " no member may start while another still runs the old one",
        LIGHT,
    ),
    Risk("records handled in the last 5 seconds before the stop may be delivered again", LIGHT),
)


def fairer_strategy(case: Case, modelled: Modelled) -> Remedy | None:
    """The released strategy that wins most back; None where none does."""
    answers = {
        name: after
        for name in ROCKETMQ
        if name != case.observed.strategy and (after := under(modelled, name)) is not None
    }
    helping = {name: after for name, after in answers.items() if case.points_back(after) > 0}
    if not helping:
        return None
    name = max(helping, key=lambda each: case.points_back(helping[each]))
    after = helping[name]
    call = f"setAllocateMessageQueueStrategy(new {ROCKETMQ_CLASSES[name]}())"
    risks = [*_OF_CHANGING]
    if case.observed.strategy not in ROCKETMQ:
        risks.append(
            Risk(f"the purpose of {case.observed.strategy or 'today’s strategy'} (rooms, lists) is lost", SERIOUS)
        )
    elif case.observed.strategy == "CONSISTENT_HASH":
        risks.append(Risk("more queues move when a member comes or goes", LIGHT))
    loads = loads_of(after)
    return Remedy(
        f"Stop all members, and start them with {call}: each member then owns {min(loads)} to {max(loads)} queues.",
        (call,),
        "all at once",
        True,
        tuple(risks),
        case.gain(after),
        after,
    )


def average_and_multiples(case: Case, modelled: Modelled) -> Remedy | None:
    """AVG, and for its sake more queues; None where that gains nothing."""
    members = len(modelled.group.members)
    odd = [topic for topic, queues in modelled.group.topics.items() if len(queues) % members]
    grown = multiples(case, modelled, odd, "AVG") if modelled.alike else None
    if grown is None or grown.points <= 0:
        return None
    call = f"setAllocateMessageQueueStrategy(new {ROCKETMQ_CLASSES['AVG']}())"
    text = f"Stop all members, and start them with {call}; before that, {grown.text[0].lower()}{grown.text[1:]}"
    commands, risks = (*grown.commands, call), (*grown.risks, *_OF_CHANGING)
    return replace(grown, text=text, commands=commands, restart="all at once", risks=risks)


def lists_by_hand(case: Case, modelled: Modelled) -> Remedy | None:
    """The optimum as lists of AllocateMessageQueueByConfig, with its price; None where it gains little."""
    small = len(modelled.group.members) * len(modelled.group.topics) <= 100_000
    after = optimum(modelled.group, modelled.today, moves=small).allocation
    if case.points_back(after) < WORTH_LISTS:
        return None
    return Remedy(
        "As a last resort, give every member its list of the fairest allocation with AllocateMessageQueueByConfig.",
        ("setAllocateMessageQueueStrategy(AllocateMessageQueueByConfig with setMessageQueueList(...))",),
        "all at once",
        True,
        (
            Risk("failover is lost: the queues of a crashed member stay without an owner", GRAVE),
            Risk("the lists omit the retry topic, so failed records are not delivered again", GRAVE),
            Risk("every new queue and every new member needs new lists in all members", SERIOUS),
        ),
        case.gain(after),
        after,
    )


def at_most(case: Case, count: int, why: str) -> Remedy:
    """Run no more than ``count`` members; ``why`` is a clause. Whoever is idle today stops: as many as that at least.

    The gain counts idle members only: the heaviest load stays what it is.
    """
    before, idle = len(case.loads), case.loads.count(0)
    stopped = before - count
    loads = sorted(case.loads, reverse=True)[:count]
    points = IDLE * (idle / before - (idle - stopped) / count)
    gain = Gain(0, stopped, over_mean(case.loads) - over_mean(loads), 0, 0, points)
    risks = [Risk("fewer idle members are left to take over when another member fails", LIGHT)]
    restart: Restart = "none"
    commands: tuple[str, ...] = ()
    if case.kind == "connect":
        text = f"Set tasks.max={count} in the connector's configuration: {why}."
        commands, restart = (f"tasks.max={count}",), "all at once"
    elif case.kind in STREAMS:
        setting = "ksql.streams.num.stream.threads" if case.kind == "ksqldb" else "num.stream.threads"
        text = (
            f"Run {several(stopped, 'thread')} fewer ({setting}, or fewer instances): {why}. Threads without a task"
            " may hold standby replicas of state (num.standby.replicas), which would be lost."
        )
        commands, restart = (setting,), "rolling"
    else:
        shown = names_of(case.observed.members or ())
        owned = () if case.modelled is None else case.modelled.today.values()
        nothing = sorted(name for name, queues in zip(shown, owned, strict=False) if not queues)
        who = f"{stopped} of the members" if stopped < idle else several(stopped, "member")
        owns = "owns" if stopped == 1 == idle else "own"
        text = f"Run at most {several(count, 'member')}: {why}. Stop {who} that {owns} nothing now: {named(nothing)}."
        if case.is_kafka:
            risks.append(Risk("the group rebalances when a member stops", LIGHT))
    return Remedy(text, commands, restart, True, tuple(risks), gain)
