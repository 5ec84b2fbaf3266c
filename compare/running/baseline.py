"""`--baseline old.json`: what changed since an earlier comparison that was written with `--format json`."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict, cast

from compare.documents.audit import moved_queues
from compare.documents.comparison import Record, ScenarioDocument
from compare.figures import Figure
from compare.figures.metrics import METRICS, paths
from compare.formatting import visible
from compare.json_types import Json
from compare.running.spread import figure
from protocols.errors import UserError
from protocols.scenario.fields import listed

Values: TypeAlias = dict[str, list[Figure]]
"""Figure to two values: what it was and what it is."""


class Change(TypedDict):
    """A variant that changed, is ``new`` or ``gone``: see `changes`."""

    label: str
    seed: int
    change: str
    better: Values
    worse: Values
    other: Values
    moved: list[list[str | int]]
    joined: list[str]
    left: list[str]
    messages: dict[str, list[int]]


def documents_of(read: Json) -> list[ScenarioDocument]:
    """The scenarios' documents of an earlier comparison; KeyError, TypeError, ValueError or AttributeError if it is
    none."""
    documents = read.get("scenarios", [read]) if isinstance(read, dict) else None
    if not isinstance(documents, list):
        raise TypeError("scenarios are a list")
    for document in documents:
        str(document["scenario"])
        for variant in document["variants"]:
            variant["label"], variant["seed"], dict(variant["owners"])
            for name in paths("spread"):
                figure(variant, name)
    return cast("list[ScenarioDocument]", documents)


def check_same(before: Sequence[ScenarioDocument], names: Sequence[str], where: str) -> None:
    """`UserError` if the baseline tells of none of these scenarios: then everything would be new and nothing learnt."""
    known = [str(scenario_document["scenario"]) for scenario_document in before]
    if not set(known) & set(names):
        told, wanted = (listed(repr(visible(name)) for name in each) if each else "nothing" for each in (known, names))
        raise UserError(f"--baseline {where}: compares {told}, expected a comparison of {wanted}")


def check_jitter(before: Sequence[ScenarioDocument], jitter: bool, where: str) -> None:
    """`UserError` if the baseline's start times and event times depend on the seed and the new runs' do not, or the
    other way round: then nearly every figure would have changed, and nothing would be learnt."""
    was = {
        bool(record.get("jitter", False)) for scenario_document in before for record in scenario_document["variants"]
    }
    if was == {not jitter}:
        how = {True: "on", False: "off"}
        raise UserError(
            f"--baseline {where}: was made with jitter {how[not jitter]}, expected --jitter {how[not jitter]}"
        )


def changes(before: Sequence[ScenarioDocument], after: ScenarioDocument) -> list[Change]:
    """What changed in one scenario, in the order of the variants; unchanged ones are left out.

    Per variant and seed: ``change`` (``new``, ``gone`` or ``changed``), ``better``, ``worse`` and ``other``, each
    {figure: [before, after]}, the queues ``moved`` ([topic, broker, number, from, to]: who owns them at the end), the
    members ``joined`` and ``left``; and the messages, type to [before, after].
    """
    former = next(
        (scenario_document for scenario_document in before if scenario_document["scenario"] == after["scenario"]), None
    )
    old = {_key(each): each for each in (former["variants"] if former else ())}
    found: list[Change] = []
    for variant in after["variants"]:
        was = old.pop(_key(variant), None)
        change = _blank(variant, "new") if was is None else _changed(was, variant)
        if change is not None:
            found.append(change)
    return [*found, *(_blank(each, "gone") for each in old.values())]


def sentence(change: Change) -> str:
    """One line for people."""
    parts = {"new": ["is new"], "gone": ["no longer exists"]}.get(change["change"], [])
    values = {"worse": change["worse"], "better": change["better"], "changed": change["other"]}
    for word, of_word in values.items():
        told = [f"{name} {_number(old)} -> {_number(new)}" for name, (old, new) in of_word.items()]
        if told:
            parts = [*parts, f"{word}: {', '.join(told)}"]
    for word, members in (("joined", change["joined"]), ("left", change["left"])):
        if members:
            parts = [*parts, f"{word}: {', '.join(members)}"]
    if change["moved"]:
        parts = [*parts, f"{len(change['moved'])} queues have another owner at the end"]
    if change["messages"] and not any("messages" in of_word for of_word in values.values()):
        parts = [*parts, f"other messages: {', '.join(change['messages'])}"]
    return f"{change['label']}, seed {change['seed']}: {'; '.join(parts)}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def _key(variant: Record) -> tuple[str, int]:
    return str(variant["label"]), int(variant["seed"])


def _blank(variant: Record, change: str) -> Change:
    return {
        "label": variant["label"],
        "seed": variant["seed"],
        "change": change,
        "better": {},
        "worse": {},
        "other": {},
        "moved": [],
        "joined": [],
        "left": [],
        "messages": {},
    }


def _changed(before: Record, after: Record) -> Change | None:
    change = _blank(after, "changed")
    for name in paths("spread"):
        old, new = figure(before, name), figure(after, name)
        # An earlier version did not have every figure yet.
        if old != new and not (old is None and name.split(".")[0] not in before):
            change[_kind(name, old, new)][name] = [old, new]
    change["moved"] = moved_queues(before["owners"], after["owners"])
    change["joined"] = sorted(after["owners"].keys() - before["owners"].keys())
    change["left"] = sorted(before["owners"].keys() - after["owners"].keys())
    sent = {
        name: [before["messages"].get(name, 0), after["messages"].get(name, 0)]
        for name in sorted(before["messages"].keys() | after["messages"].keys())
    }
    change["messages"] = {name: [old, new] for name, (old, new) in sent.items() if old != new}
    values = (change["better"], change["worse"], change["other"])
    parts = (*values, change["moved"], change["joined"], change["left"], change["messages"])
    return change if any(parts) else None


def _kind(name: str, old: float | None, new: float | None) -> Literal["better", "worse", "other"]:
    better = METRICS[name].better
    if not better:
        return "other"
    if old is None or new is None:
        # Where it takes for ever, there is no number.
        return "other" if name != "lag.drain_s" else "worse" if new is None else "better"
    return "better" if (new > old) == (better > 0) else "worse"
