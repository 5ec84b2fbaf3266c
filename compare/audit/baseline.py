"""`--baseline old.json`: what changed since an earlier audit that was written with `--format json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from compare.measure.moved_queues import moved_queues

_WORSE_IF_MORE = ("idle_members", "unowned_queues", "double_owned_queues", "max_over_mean")
_WORDS = {
    "idle_members": "idle members",
    "unowned_queues": "queues without owner",
    "double_owned_queues": "queues owned twice",
    "max_over_mean": "heaviest load over the mean",
}

Change = dict[str, Any]


def groups_of(document: Any) -> list[dict[str, Any]]:
    """The groups of an earlier audit; KeyError, TypeError or ValueError if it is none."""
    groups = document["groups"]
    if not isinstance(groups, list):
        raise TypeError("groups are a list")
    for group in groups:
        group["system"], group["group"], dict(group["owners"] or {})
    return groups


def changes(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[Change]:
    """What changed from one audit's groups to the next one's, in the order of ``after``, unchanged groups left out.

    Per group: ``system``, ``group``, ``change`` (``new``, ``gone`` or ``changed``), the members ``newly_idle``,
    ``joined`` and ``left``, the queues ``moved`` ([topic, broker, number, from, to] where both owners are told and
    single), ``worse`` and ``better`` ({figure: [before, after]}).
    """
    old = {(group["system"], group["group"]): group for group in before}
    found: list[Change] = []
    for group in after:
        former = old.pop((group["system"], group["group"]), None)
        change = _blank(group, "new") if former is None else _changed(former, group)
        if change is not None:
            found.append(change)
    found += [_blank(group, "gone") for group in old.values()]
    return found


def sentence(change: Change) -> str:
    """One line for people."""
    parts = []
    if change["change"] in ("new", "gone"):
        parts.append("is new" if change["change"] == "new" else "no longer exists")
    if change["newly_idle"]:
        parts.append(f"newly idle: {', '.join(change['newly_idle'])}")
    for word, figures in (("worse", change["worse"]), ("better", change["better"])):
        parts += [f"{word}: {_WORDS[name]} {old:g} -> {new:g}" for name, (old, new) in figures.items()]
    for word in ("joined", "left"):
        if change[word]:
            parts.append(f"{len(change[word])} {word}")
    if change["moved"]:
        parts.append(f"{len(change['moved'])} queues moved")
    return f"{change['system']} group {change['group']}: {'; '.join(parts)}"


def _blank(group: Mapping[str, Any], change: str) -> Change:
    nothing: Change = {"newly_idle": [], "joined": [], "left": [], "moved": [], "worse": {}, "better": {}}
    return {"system": group["system"], "group": group["group"], "change": change, **nothing}


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Change | None:
    change = _blank(after, "changed")
    old, new = before["owners"] or {}, after["owners"] or {}
    change["joined"] = sorted(new.keys() - old.keys())
    change["left"] = sorted(old.keys() - new.keys())
    change["newly_idle"] = sorted(member for member, queues in new.items() if queues == [] and old.get(member) != [])
    change["moved"] = moved_queues(old, new)
    for name in _WORSE_IF_MORE:
        was_figure, is_figure = before.get(name), after.get(name)
        if was_figure is not None and is_figure is not None and was_figure != is_figure:
            change["worse" if is_figure > was_figure else "better"][name] = [was_figure, is_figure]
    return change if any(change[key] for key in ("newly_idle", "joined", "left", "moved", "worse", "better")) else None
