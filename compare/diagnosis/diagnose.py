"""Why a group is as it is and what would help, the most expensive first."""

from typing import TYPE_CHECKING

from compare.diagnosis.causes.absence import (
    missing_topics,
    nobody,
    nobody_online,
    rebalancing,
    static_member_silent,
    unknown_ownership,
)
from compare.diagnosis.causes.balance import (
    as_fair_as_can_be,
    lopsided_topics,
    more_members_than_queues,
    unequal_subscriptions,
    uneven,
)
from compare.diagnosis.causes.ownership import broken_ownership
from compare.diagnosis.finding import Finding, Readers, Search, case_of
from compare.reading.group_model import Modelled

if TYPE_CHECKING:
    from compare.auditing.group_figures import AuditedGroup

SEARCHES: tuple[Search, ...] = (
    nobody,
    nobody_online,
    rebalancing,
    broken_ownership,
    uneven,
    more_members_than_queues,
    static_member_silent,
    unequal_subscriptions,
    lopsided_topics,
    missing_topics,
    unknown_ownership,
)
"""Where two findings cost the same, the earlier search's comes first."""


def diagnose(
    group: "AuditedGroup", modelled: Modelled | None = None, readers: Readers | None = None
) -> tuple[Finding, ...]:
    """All findings, ranked by cost; () where nothing can be said.

    ``modelled``: `model_of` the group, if it is there already; ``readers``: topic to the groups that read it. Groups
    that share no queues (broadcasting, POP) have no findings. The last finding of a group without any other says that
    it is as fair as it can be.
    """
    if group.mode != "shared":
        return ()
    case = case_of(group, modelled, readers)
    found = [each for search in SEARCHES for each in search(case)] or list(as_fair_as_can_be(case))
    return tuple(sorted(found, key=lambda each: -each.cost))
