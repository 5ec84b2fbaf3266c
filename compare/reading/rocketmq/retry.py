"""Retry topics: each group has one, ``%RETRY%`` and the group's name, and so texts tell whose they are."""

from collections.abc import Iterable

from rocketmq_selfbalance.codes import RETRY_PREFIX


def is_retry(topic: str) -> bool:
    """Whether the topic is a group's retry topic."""
    return topic.startswith(RETRY_PREFIX)


def own_retry_topic(topics: Iterable[str]) -> str | None:
    """The retry topic of the group that has these topics; None if they hold none, or those of several groups."""
    retries = sorted(filter(is_retry, topics), key=len)
    # A group that consumes by POP has one more per topic, %RETRY%group_topic.
    if not retries or not all(each.startswith((f"{retries[0]}_", f"{retries[0]}+")) for each in retries[1:]):
        return None
    return retries[0]


def group_of(retry_topic: str | None) -> str | None:
    """The group that a retry topic belongs to, None if there is no topic or no name in it."""
    return retry_topic and (retry_topic.removeprefix(RETRY_PREFIX) or None)
