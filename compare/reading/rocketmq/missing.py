"""What the sources leave out of a group that they tell in part, and why."""

from compare.reading.observed import Partial
from compare.reading.rocketmq.members import Clients
from compare.reading.rocketmq.ownership import Ownership
from compare.reading.rocketmq.retry import is_retry
from compare.reading.rocketmq.subscribed import KnownTopics, Topics
from compare.reading.rocketmq.tables import Table


def what_is_missing(
    clients: Clients, ownership: Ownership, told: KnownTopics, topics: Topics, table: Table, listed: bool
) -> Partial | None:
    """None where every member, and all that each owns, is told. ``listed``: all members are."""
    silent = tuple(id for id, owned in ownership.owned.items() if owned is None)
    # Who owns nothing that is told at all is missing himself; what else he might own need not be named.
    untold = told.untold if table.shown is not None else ()
    reasons = list(_unlisted(clients, ownership, table)) if not listed else []
    if silent:
        reasons += ownership.why
    if untold:
        reasons.append(_without_rows(untold, topics))
    if not told.everybody and not silent and listed and topics.subscriptions_differ:
        reasons.append("members that were not asked may read topics that no source shows, because subscriptions differ")
    elif not told.everybody and not silent and listed and topics.subscribed is None:
        reasons.append(
            "no source shows the subscriptions, which consumerConnection does, and consumerProgress omits topics"
            " without a stored offset"
        )
    return Partial(untold, silent, "; ".join(reasons)) if reasons else None


def is_deserted(clients: Clients, table: Table) -> bool:
    """Whether nobody is shown anywhere: no member is listed, and no queue has an owner."""
    return (
        not clients.connected and clients.count is None and bool(table.shown) and not any((table.shown or {}).values())
    )


def nobody_online(table: Table) -> str:
    """What rows without any owner look like, and what waits meanwhile (retry topics left out, as in the figures)."""
    waiting = sum(max(lag, 0) for queue, lag in table.lag.items() if not is_retry(queue.topic))
    records = "1 record waits" if waiting == 1 else f"{waiting or 'no'} records wait"
    return f"no member seems to be online, because no row of consumerProgress has an owner; {records}"


def _unlisted(clients: Clients, ownership: Ownership, table: Table) -> list[str]:
    """Why the members are not all known."""
    if is_deserted(clients, table):
        return [nobody_online(table)]
    if ownership.strangers and clients.listed:
        return ["some queues belong to addresses that no listed member has"]
    if clients.listed:
        return ["the list of members is incomplete"]
    return ["no source lists the members, which consumerConnection does"]


def _without_rows(untold: tuple[str, ...], topics: Topics) -> str:
    named = ", ".join(untold)
    if topics.subscriptions_differ:
        return (
            f"consumerProgress does not show all queues of {named}, because the members subscribe to different topics"
            " and the tool shows only those of the last heartbeat"
        )
    return f"consumerProgress may not show all queues of {named}, because some may have no stored offset yet"
