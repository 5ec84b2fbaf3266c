"""`--baseline old.json`: what changed since an earlier audit that was written with `--format json`."""

from collections.abc import Sequence
from typing import TypeAlias, TypedDict, cast

from compare.documents.audit import GroupRecord, figure, moved_queues
from compare.figures.metrics import COLUMNS
from compare.json_types import Json

_WORSE_IF_MORE = {metric.path: metric.heading for metric in COLUMNS["audit changes"]}
"""Figures that are worse the larger they are, in words."""

Figures: TypeAlias = dict[str, list[float]]
"""Figure to two values: what it was and what it is."""


class Change(TypedDict):
    """A group that changed, is ``new`` or ``gone``: see `changes`."""

    system: str
    group: str
    change: str
    newly_idle: list[str]
    joined: list[str]
    left: list[str]
    moved: list[list[str | int]]
    worse: Figures
    better: Figures


def groups_of(document: Json) -> list[GroupRecord]:
    """The groups of an earlier audit; KeyError, TypeError or ValueError if it is none."""
    groups = document["groups"] if isinstance(document, dict) else None
    if not isinstance(groups, list):
        raise TypeError("groups are a list")
    for group in groups:
        group["system"], group["group"], dict(group["owners"] or {})
    return cast("list[GroupRecord]", groups)


def changes(before: Sequence[GroupRecord], after: Sequence[GroupRecord]) -> list[Change]:
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
        parts += [f"{word}: {_WORSE_IF_MORE[name]} {old:g} -> {new:g}" for name, (old, new) in figures.items()]
    for word, members in (("joined", change["joined"]), ("left", change["left"])):
        if members:
            parts.append(f"{len(members)} {word}")
    if change["moved"]:
        parts.append(f"{len(change['moved'])} queues moved")
    return f"{change['system']} group {change['group']}: {'; '.join(parts)}"


def _blank(group: GroupRecord, change: str) -> Change:
    return {
        "system": group["system"],
        "group": group["group"],
        "change": change,
        "newly_idle": [],
        "joined": [],
        "left": [],
        "moved": [],
        "worse": {},
        "better": {},
    }


def _changed(before: GroupRecord, after: GroupRecord) -> Change | None:
    change = _blank(after, "changed")
    old, new = before["owners"] or {}, after["owners"] or {}
    change["joined"] = sorted(new.keys() - old.keys())
    change["left"] = sorted(old.keys() - new.keys())
    if figure(after, "idle_members") is not None:  # nobody is idle while a group rebalances
        change["newly_idle"] = sorted(
            member for member, queues in new.items() if queues == [] and old.get(member) != []
        )
    change["moved"] = moved_queues(old, new)
    for name in _WORSE_IF_MORE:
        was_figure, is_figure = figure(before, name), figure(after, name)
        if was_figure is not None and is_figure is not None and was_figure != is_figure:
            change["worse" if is_figure > was_figure else "better"][name] = [was_figure, is_figure]
    told = (change["newly_idle"], change["joined"], change["left"], change["moved"], change["worse"], change["better"])
    return change if any(told) else None
