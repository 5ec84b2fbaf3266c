"""RocketMQ: another strategy in every client, or lists made by hand."""

from dataclasses import replace

from compare.auditing.what_if import loads_of, under
from compare.catalogues import ROCKETMQ, ROCKETMQ_CLASSES
from compare.diagnosis.finding import Case
from compare.diagnosis.remedies.queues import multiples
from compare.diagnosis.remedies.remedy import GRAVE, LIGHT, SERIOUS, Remedy, Risk
from compare.optimum import optimum
from compare.reading.group_model import Modelled

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
