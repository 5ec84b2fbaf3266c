"""RocketMQ: from one strategy to another. Every client allocates for itself, so all must change together."""

from compare.catalogues import ROCKETMQ_CLASSES
from compare.planning.routes.commands import members, progress
from compare.planning.steps import Route, Step, WrongOrder, in_each, one_by_one
from compare.planning.subject import Subject

STRATEGY = "allocateMessageQueueStrategy"


def another_strategy(subject: Subject, new: str) -> Route:
    """The route from today's strategy to another one: one step, without a moment at which both are in use."""
    old = subject.strategy
    change = in_each(subject.names, {STRATEGY: ROCKETMQ_CLASSES[new]})
    step = Step(
        f"Stop {members(subject)}, and start them with setAllocateMessageQueueStrategy(new {ROCKETMQ_CLASSES[new]}()):"
        f" no member may start while another still runs {old}, because each client allocates for itself. Shut clients"
        " down properly, so that they commit their offsets.",
        f"Before the first start `mqadmin consumerConnection -n NAMESRV:9876 -g {subject.group}` shows no client; a"
        f" minute after the last start `{progress(subject)}` shows one client for every queue.",
        f"Stop {members(subject)}, and start them with {ROCKETMQ_CLASSES[old]}.",
        change,
        [subject.names],
        watch=120_000.0,
    )
    mixed = WrongOrder(
        f"A rolling restart: as long as members with {old} and members with {new} run side by side, they disagree about"
        " who owns what. Some queues have two owners and some have none, for as long as the roll takes.",
        [Step("", "", "", change, one_by_one(subject.names), watch=120_000.0)],
    )
    return Route([step], [mixed])
