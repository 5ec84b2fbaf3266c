"""Autoscalers as a scenario has them: under ``scale``, one or a list, or among the events."""

from collections.abc import Mapping, Sequence

from protocols.scenario import shorthands
from protocols.scenario.fields import GroupPart
from protocols.scenario.model import ScalePart
from protocols.scenario.validation import PartError, Path, mapping, suggestion, validated

Given = Sequence[tuple[object, Path]]
"""What is written, and where."""


def parted(fields: Mapping[str, object]) -> tuple[Given, Given]:
    """The scenario's autoscalers, those among the events too, and its other events. Raises `PartError`."""
    given = fields.get("scale", ())
    rules: list[tuple[object, Path]] = [(given, ("scale",))]
    if isinstance(given, list | tuple):
        rules = [(rule, ("scale", number)) for number, rule in enumerate(given)]
    events: list[tuple[object, Path]] = []
    for number, item in enumerate(shorthands.items(fields.get("events", ()), ("events",))):
        path: Path = ("events", number)
        if isinstance(item, Mapping) and "scale" in item:
            others = [name for name in item if name not in ("at", "scale")]
            if others:
                raise PartError((*path, str(others[0])), "unknown field beside scale, expected at alone")
            rule = mapping(item["scale"], (*path, "scale"))
            rules.append(({**rule, **({"at": item["at"]} if "at" in item else {})}, (*path, "scale")))
        else:
            events.append((item, path))
    return rules, events


def read(given: Given, groups: Mapping[str, GroupPart]) -> tuple[ScalePart, ...]:
    """The autoscalers. ``groups`` have the members that are there from 0s on. Raises `PartError`."""
    rules: dict[str, ScalePart] = {}
    for item, path in given:
        rule = validated(ScalePart, item, path)
        name = rule.group or (next(iter(groups)) if len(groups) == 1 else "")
        if name not in groups:
            raise PartError((*path, "group"), f"unknown group {name!r}, {suggestion(name, groups)}")
        if name in rules:
            raise PartError(path, f"a second autoscaler of group {name}, expected one for each group")
        if not groups[name].members:
            raise PartError(path, f"no member of group {name} is there from 0s on, like which new ones would be")
        if rule.every <= 0:
            raise PartError((*path, "every"), "0s, expected some time between two looks such as 15s")
        rules[name] = rule.model_copy(update={"group": name})
    return tuple(rules.values())
