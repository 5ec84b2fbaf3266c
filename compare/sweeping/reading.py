"""A sweep from a YAML file: its fields, their shorthands, and what is wrong in one line with the place."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from compare.catalogues import UNRELEASED
from compare.running.systems import SYSTEMS, known_strategies
from compare.sweeping.grid import MOST_MEMBERS, MOST_QUEUES, OPTIMUM, Kind, NamedEvent, Sweep
from compare.sweeping.stories import OF_ALLOCATIONS, OF_SIMULATIONS, SHAPES
from protocols.scenario.checks import check_versions, system_problem
from protocols.scenario.fields import latency_of, milliseconds, per_second
from protocols.scenario.model import SystemPart, split_system
from protocols.scenario.reading import file_text, refusal
from protocols.scenario.shorthands import items
from protocols.scenario.validation import PartError, known, mapping, short, suggestion, validated
from protocols.scenario.validation import Path as Place
from protocols.scenario.yaml_values import parse

V = TypeVar("V")

MOST_CELLS = 100_000_000
"""Cells of all variants together: two processors take some hours for as many rows of allocations."""

_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")

_OF_BOTH = ("name", "about", "kind", "members", "topics", "queues", "brokers", "subscriptions", "events", "systems")
_FIELDS: Mapping[Kind, tuple[str, ...]] = {
    "allocations": (*_OF_BOTH, "loads"),
    "simulations": (*_OF_BOTH, "latencies", "seeds", "produce", "handle", "for", "at", "versions"),
    "scale": ("name", "about", "kind", "members", "systems", "latencies", "seeds", "for", "versions"),
}

_FOR: Mapping[Kind, str] = {"scale": "8min"}
"""How long a run lasts where nothing is said, if not ten minutes."""


class ReadSweep(NamedTuple):
    """A sweep, and where each variant was written: ``file line 7: systems.0``."""

    sweep: Sweep
    places: tuple[str, ...]


def read(path: str | Path) -> ReadSweep:
    """The sweep in a YAML file. Raises `UserError`: one line that names the file, the line and the field."""
    return read_text(file_text(path, "sweep"), str(path))


def read_text(text: str, source: str = "sweep") -> ReadSweep:
    """The sweep in a YAML text; ``source`` is what errors call it. Raises `UserError` as `read` does."""
    parsed = parse(text, source, "sweep")
    try:
        sweep, paths = _sweep(parsed.value)
    except PartError as wrong:
        raise refusal(f"{source} line {parsed.line(wrong.path)}", wrong) from None
    places = tuple(f"{source} line {parsed.line(path)}: {'.'.join(map(str, path))}" for path in paths)
    return ReadSweep(sweep, places)


def _sweep(given: object) -> tuple[Sweep, tuple[Place, ...]]:
    fields = mapping(given, ())
    kind = _kind(fields.get("kind"))
    known(fields, _FIELDS[kind], ())
    for name in ("name", "kind", "members", "topics", "queues"):
        if name not in fields and name in _FIELDS[kind]:
            raise PartError((name,), "is missing")
    if not isinstance(fields["name"], str) or not fields["name"]:
        raise PartError(("name",), f"{short(fields['name'])} is no name, expected a few words")
    systems, paths = _systems(fields.get("systems", "all"), kind)
    sweep = Sweep(
        name=fields["name"],
        about=str(fields.get("about", "")),
        kind=kind,
        members=_numbers(fields["members"], 1, MOST_MEMBERS[kind], ("members",)),
        topics=_numbers(fields.get("topics", 1), 1, MOST_QUEUES, ("topics",)),
        queues=_numbers(fields.get("queues", 1), 1, MOST_QUEUES, ("queues",)),
        brokers=_numbers(fields.get("brokers", 1), 1, 1000, ("brokers",)),
        subscriptions=_names(fields.get("subscriptions", "equal"), SHAPES, ("subscriptions",)),
        events=_events(fields.get("events", "none"), kind),
        systems=systems,
        loads=_flag(fields.get("loads", False), ("loads",)),
        latencies=tuple(
            _checked(each, latency_of, path)
            for each, path in _each(fields.get("latencies", "1ms..5ms"), ("latencies",))
        ),
        seeds=_numbers(fields.get("seeds", 0), 0, 2**31, ("seeds",)),
        produce=_checked(fields.get("produce", 0), per_second, ("produce",)),
        handle=_checked(fields.get("handle", 0), milliseconds, ("handle",)),
        run_for=_checked(fields.get("for", _FOR.get(kind, "10min")), milliseconds, ("for",)),
        event_at=_checked(fields.get("at", "60s"), milliseconds, ("at",)),
        versions=_versions(fields.get("versions", {})) if kind != "allocations" else {},
    )
    _check_sizes(sweep)
    return sweep, paths


def _versions(given: object) -> dict[str, str]:
    """Of every system that has several, the newest where none is given: a folder is of one version only."""
    known_versions = {system: known.versions for system, known in known_strategies().items() if known.versions}
    named = {name: str(version) for name, version in mapping(given, ("versions",)).items()}
    check_versions(named, known_strategies())
    return {system: named.get(system, versions[-1]) for system, versions in known_versions.items()}


def _check_sizes(sweep: Sweep) -> None:
    queues = max(sweep.topics) * max(sweep.queues)
    if queues > MOST_QUEUES:
        raise PartError(("queues",), f"up to {queues:,} queues in all topics, expected at most {MOST_QUEUES:,}")
    if sweep.cells * len(sweep.systems) > MOST_CELLS:
        much = f"{sweep.cells * len(sweep.systems):,} cells in all variants"
        raise PartError((), f"{much}, expected at most {MOST_CELLS:,}")
    if sweep.event_at >= sweep.run_for:
        raise PartError(("at",), "the events come after the end of the run, expected a time before it")


def _kind(given: object) -> Kind:
    if given not in _FIELDS:
        what = "is missing" if given is None else f"{short(given)} is unknown"
        raise PartError(("kind",), f"{what}, expected allocations, simulations or scale")
    return cast(Kind, given)


def _each(given: object, path: Place) -> Sequence[tuple[object, Place]]:
    """One value, or a list of them, each with its place."""
    if not isinstance(given, list | tuple):
        return [(given, path)]
    if not given:
        raise PartError(path, "an empty list, expected at least one value")
    return [(item, (*path, number)) for number, item in enumerate(items(given, path))]


def _numbers(given: object, least: int, most: int, path: Place) -> tuple[int, ...]:
    """A number, a range such as ``1..64``, or a list of both; each number once."""
    found: dict[int, None] = {}
    for each, place in _each(given, path):
        matched = _RANGE.fullmatch(each) if isinstance(each, str) else None
        if matched is not None:
            first, last = int(matched[1]), int(matched[2])
        elif isinstance(each, int) and not isinstance(each, bool):
            first = last = each
        else:
            raise PartError(place, f"{short(each)} is no number, expected one such as 4, or a range such as 1..64")
        if not least <= first <= last <= most:
            raise PartError(
                place, f"{short(each)} is out of bounds, expected numbers from {least} to {most}, ascending"
            )
        twice = next((number for number in range(first, last + 1) if number in found), None)
        if twice is not None:
            raise PartError(place, f"{twice} appears twice, expected each number once")
        found |= dict.fromkeys(range(first, last + 1))
    return tuple(found)


def _names(given: object, expected: Mapping[str, object], path: Place) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for each, place in _each(given, path):
        if not isinstance(each, str) or each not in expected:
            raise PartError(place, f"unknown {short(each)}, {suggestion(str(each), expected)}")
        if each in found:
            raise PartError(place, f"{each!r} appears twice, expected each name once")
        found[each] = None
    return tuple(found)


def _flag(given: object, path: Place) -> bool:
    if not isinstance(given, bool):
        raise PartError(path, f"{short(given)} is neither true nor false")
    return given


def _checked(given: object, take: Callable[[object], V], path: Place) -> V:
    try:
        return take(given)
    except ValueError as error:
        raise PartError(path, str(error)) from None


def _events(given: object, kind: Kind) -> tuple[NamedEvent, ...]:
    """Names of events; of simulations also ``{name: ..., events: [...]}`` with a scenario's own events."""
    expected = OF_ALLOCATIONS if kind == "allocations" else OF_SIMULATIONS
    named_events: dict[str, NamedEvent] = {}
    for each, path in _each(given, ("events",)):
        if kind == "simulations" and isinstance(each, Mapping):
            fields = mapping(each, path)
            known(fields, ("name", "events"), path)
            name, events = fields.get("name"), items(fields.get("events"), (*path, "events"))
            if not isinstance(name, str) or not name:
                raise PartError(path, "an event without a name, expected {name: ..., events: [...]}")
            made = NamedEvent(name, tuple(mapping(one, (*path, "events", at)) for at, one in enumerate(events)))
        else:
            (name,) = _names(each, dict.fromkeys(expected), path)
            made = NamedEvent(name)
        if made.name in named_events:
            raise PartError(path, f"{made.name!r} appears twice, expected each name once")
        named_events[made.name] = made
    return tuple(named_events.values())


def _systems(given: object, kind: Kind) -> tuple[tuple[SystemPart, ...], tuple[Place, ...]]:
    found: dict[str, tuple[SystemPart, Place]] = {}
    for each, path in _each(given, ("systems",)):
        for part in _variants(each, kind, path):
            if part.label in found:
                raise PartError(path, f"{part.label!r} appears twice, expected a different label for each variant")
            found[part.label] = part, path
    if kind == "allocations":
        found[OPTIMUM] = SystemPart(system=OPTIMUM, label=OPTIMUM), ("systems",)
    return tuple(part for part, _ in found.values()), tuple(path for _, path in found.values())


def _variants(given: object, kind: Kind, path: Place) -> list[SystemPart]:
    """The variants of an entry: a name, ``kafka``, ``rocketmq`` or ``all``, or fields of which ``system`` and
    ``settings`` may be lists."""
    if isinstance(given, str):
        names = _family(given)
        parts = [SystemPart(system=name, label=name) for name in names]
    else:
        fields: Mapping[str, object] = mapping(given, path)
        known(fields, ("system", "settings", "label"), path)
        settings = _each(fields.get("settings", {}), (*path, "settings"))
        parts = [
            validated(SystemPart, {"system": name, "label": _label(fields, name, own, several), "settings": own}, place)
            for name, place in _each(fields.get("system"), (*path, "system"))
            for own, several in ((dict(mapping(each, where)), len(settings) > 1) for each, where in settings)
        ]
    systems = known_strategies()
    for part in parts:
        problem = system_problem(part.system, systems)
        if not problem and kind == "allocations" and not _allocates(part.system):
            problem = f"{part.system} is only in simulations, expected a strategy of kafka or rocketmq"
        if not problem and kind == "allocations" and "+" in part.system:
            problem = f"{part.system}: that members are static shows in simulations only"
        if not problem and kind == "scale" and not SYSTEMS[split_system(part.system)[0]].traffic()[0]:
            problem = f"{part.system}: the sizes of its frames are not known"
        if problem:
            raise PartError(path, problem)
    return parts


def _allocates(name: str) -> bool:
    """Whether there is a strategy of this name that answers by itself."""
    system, strategy = split_system(name)
    return system != "kafka-zookeeper" and strategy not in {record.name for record in SYSTEMS[system].without_owners}


def _label(fields: Mapping[str, object], system: object, settings: Mapping[str, object], several: bool) -> str:
    """What results call a variant; where an entry has several settings, these follow."""
    label = str(fields.get("label") or system)
    told = ", ".join(f"{key}={value}" for key, value in settings.items())
    return f"{label} {told}" if several and told else label


def _family(name: str) -> list[str]:
    """The strategies for which a bare name stands: those of a release, without groups that have no owners, as in a
    scenario."""
    if name != "all" and name not in SYSTEMS:
        return [name]
    chosen = ("kafka", "rocketmq") if name == "all" else (name,)
    return [
        f"{system}:{strategy}"
        for system in chosen
        for strategy in SYSTEMS[system].strategies()
        if strategy not in UNRELEASED
    ]
