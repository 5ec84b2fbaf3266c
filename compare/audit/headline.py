"""One sentence on top: what is wrong in how many groups."""

from collections.abc import Callable, Sequence

from compare.audit.judge import AuditedGroup

ONE = "1 group"


def headline(groups: Sequence[AuditedGroup]) -> str:
    """What a reader should know first, in one or two sentences."""
    if not groups:
        return "No group found."
    total = f"{len(groups)} groups" if len(groups) > 1 else ONE
    shared = [group for group in groups if group.figure("members") != 0]
    deserted = len(groups) - len(shared)
    findings = [
        _finding(shared, total, lambda group: group.figure("idle_members"), "keep", "keeps", "member", "idle"),
        _finding(shared, total, lambda group: group.figure("unowned_queues"), "leave", "leaves", "queue", "unowned"),
        _finding(
            shared, total, lambda group: group.figure("double_owned_queues"), "have", "has", "queue", "owned twice"
        ),
    ]
    found = [each for each in findings if each]
    silent = [group for group in groups if group.mode == "shared" and group.figure("idle_members") is None]
    in_part = sum(group.observed.partial is not None and bool(group.topics) for group in silent)
    untold = len(silent) - in_part
    sentences = []
    if found:
        sentences.append("; ".join(found) + ".")
    elif len(silent) < len(shared):
        sentences.append(f"No idle member, no queue without owner or with two in {total}.")
    if deserted:
        sentences.append(f"{deserted} of {total} {'have' if deserted > 1 else 'has'} no member.")
    if untold:
        of = "them" if found else total
        sentences.append(f"For {untold} of {of} the sources do not tell who owns what.")
    if in_part:
        of = "them" if found else total
        sentences.append(f"For {in_part} of {of} the sources tell a part only.")
    return " ".join(sentences)


def _finding(
    groups: Sequence[AuditedGroup],
    total: str,
    count: Callable[[AuditedGroup], float | None],
    plural: str,
    singular: str,
    what: str,
    state: str,
) -> str:
    counts = [int(number) for group in groups if (number := count(group))]
    if not counts:
        return ""
    verb = plural if len(counts) > 1 else singular
    things = f"{sum(counts)} {what}{'s' if sum(counts) > 1 else ''}"
    who = f"{len(counts)} of {total}" if total != ONE else "The group"
    return f"{who} {verb} {things} {state}"
