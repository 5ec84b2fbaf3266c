"""The route to each kind of target: which steps, in which order, and which orders go wrong."""

from compare.planning.routes import kafka, membership, queues, rocketmq
from compare.planning.steps import Route
from compare.planning.subject import Subject
from compare.planning.target import STATIC, Target
from protocols.errors import UserError


def route(subject: Subject, target: Target) -> Route:
    """The route from the group as it is to the target. Raises `UserError` where there is nothing to do, or no way."""
    if target.system and target.system != subject.system:
        raise UserError(f"--to {target.text}: {subject.group} is a group of {subject.system}, expected a target of it")
    if target.topic:
        return queues.more_queues(subject, target.topic, target.queues)
    if target.members:
        return membership.more_members(subject, target.members)
    if target.text == STATIC:
        return membership.static_members(subject)
    if target.strategy == subject.strategy:
        raise UserError(
            f"--to {target.text}: {subject.group} uses {target.strategy} already, expected another strategy"
        )
    if subject.system == "kafka":
        return kafka.another_strategy(subject, target.strategy)
    return rocketmq.another_strategy(subject, target.strategy)
