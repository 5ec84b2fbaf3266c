"""One sentence on top: what is wrong in how many groups, the most expensive first."""

from collections.abc import Sequence

from compare.auditing.group_figures import AuditedGroup, waiting

ONE = "1 group"


def headline(groups: Sequence[AuditedGroup]) -> str:
    """What a reader should know first, in a few sentences."""
    if not groups:
        return "No group found."
    total = f"{len(groups)} groups" if len(groups) > 1 else ONE
    peopled = _peopled(groups)
    found = [
        each
        for each in (
            _finding(peopled, total, "unowned_queues", "leave", "leaves", "queue", "unowned"),
            _finding(peopled, total, "double_owned_queues", "have", "has", "queue", "owned twice"),
            _finding(peopled, total, "idle_members", "keep", "keeps", "member", "idle"),
        )
        if each
    ]
    silent = [group for group in peopled if group.mode == "shared" and group.figure("idle_members") is None]
    in_part = sum(group.observed.partial is not None and bool(group.topics) for group in silent)
    untold = len(silent) - in_part
    sentences = [*_deserted(groups, total), *_without_members(groups, total)]
    if found:
        sentences.append("; ".join(found) + ".")
    elif any(group.figure("idle_members") is not None for group in peopled):
        sentences.append(f"No idle member, no queue without owner or with two in {total}.")
    sentences += _lag(groups, total)
    if untold:
        sentences.append(f"Ownership is unknown for {untold} of {total}.")
    if in_part:
        sentences.append(f"Ownership is known in part for {in_part} of {total}.")
    return " ".join(sentences)


def _peopled(groups: Sequence[AuditedGroup]) -> list[AuditedGroup]:
    return [group for group in groups if _is_peopled(group)]


def _is_peopled(group: AuditedGroup) -> bool:
    return group.figure("members") != 0 and not group.observed.seems_deserted


def _deserted(groups: Sequence[AuditedGroup], total: str) -> list[str]:
    told = [group for group in groups if group.figure("members") == 0 and not group.observed.only_offsets]
    seem = [group for group in groups if group.observed.seems_deserted]
    sentences = []
    for deserted, singular, plural in (
        (told, "has no member", "have no member"),
        (seem, "seems to have no member online", "seem to have no member online"),
    ):
        if not deserted:
            continue
        records = sum(waiting(group.observed, ())[0] for group in deserted)
        who = _who(len(deserted), total)
        has = plural if len(deserted) > 1 else singular
        wait = "" if not records else f", and {_count(records, 'record')} {'wait' if records > 1 else 'waits'} there"
        sentences.append(f"{who} {has}{wait}.")
    return sentences


def _without_members(groups: Sequence[AuditedGroup], total: str) -> list[str]:
    count = sum(group.observed.only_offsets for group in groups)
    who = _who(count, total)
    store = "store" if count > 1 else "stores"
    return [f"{who} only {store} offsets for consumers that call assign()."] if count else []


def _lag(groups: Sequence[AuditedGroup], total: str) -> list[str]:
    deserted = [group for group in groups if not _is_peopled(group) and not group.observed.only_offsets]
    more = " more" if any(sum(waiting(group.observed, ())) for group in deserted) else ""
    others = [group for group in groups if _is_peopled(group) or group.observed.only_offsets]
    lags = [lag for group in others if (lag := sum(waiting(group.observed, ()))) > 0]
    if not lags:
        return []
    where = f"{len(lags)} of {total}" if total != ONE else "it"
    records = sum(lags)
    return [f"{records:,}{more} {'records wait' if records > 1 else 'record waits'} in {where}."]


def _finding(
    groups: Sequence[AuditedGroup], total: str, figure: str, plural: str, singular: str, what: str, state: str
) -> str:
    counts = [int(number) for group in groups if (number := group.figure(figure))]
    if not counts:
        return ""
    who = _who(len(counts), total)
    return f"{who} {plural if len(counts) > 1 else singular} {_count(sum(counts), what)} {state}"


def _who(count: int, total: str) -> str:
    return f"{count} of {total}" if total != ONE else "The group"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
