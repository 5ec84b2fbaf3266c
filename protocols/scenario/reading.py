"""The door to scenarios: from a file, from a YAML text, from plain Python values.

``registered`` says which systems and strategies there are. Left out, their names are not checked, and a scenario that
names no system has none.

Why everything passes through `build`: a scenario has many short forms (``members: 3``, ``rolling``, ``produce: 80%``),
and the models, the explorer and the writer of YAML know only the long ones. Short forms are resolved here, once, in an
order in which each may depend on the ones before, and a mistake is told by its place in what the user wrote.
"""

import pathlib
from collections.abc import Mapping, Sequence

from protocols import files
from protocols.errors import UserError
from protocols.scenario import autoscalers, checks, shorthands
from protocols.scenario.capacity import with_rates
from protocols.scenario.events.base import MemberChange, Written, need_strategies, read_events
from protocols.scenario.fields import GroupPart, Settings
from protocols.scenario.membership import Membership
from protocols.scenario.model import ExpectPart, LoadPart, RunPart, Scenario, SystemPart, Systems, default_systems
from protocols.scenario.topology import MemberKey
from protocols.scenario.validation import PartError, Path, field_names, known, mapping, path_text, validated

_SERVED: Mapping[str, object] = {"name": "real clients", "topics": {}, "run": {"for": "8760h"}}
"""What a scenario for real clients need not say: its members are not started, and it runs until it is ended."""


def build(given: object, systems: Systems | None, *, served: bool = False) -> Scenario:
    """A scenario from nested values with all their shorthands. ``systems``: those that there are; None: their names are
    not checked, and a scenario that names none has none. ``served``: for real clients, so that it need not say which
    groups there are nor how long it runs.

    Raises `protocols.scenario.validation.PartError` for the first thing that cannot be.
    """
    fields = dict(mapping(given, ()))
    known(fields, (*field_names(Scenario), "group", "keys"), ())
    if served:
        fields = {**_SERVED, **fields}
    for name in ("name", "topics", "run"):
        if name not in fields:
            raise PartError((name,), "is missing")
    if not fields["name"]:
        raise PartError(("name",), "no name, expected a few words")
    brokers = shorthands.names(fields.get("brokers", Scenario.model_fields["brokers"].default), ("brokers",))
    if not brokers:
        raise PartError(("brokers",), "no broker, expected at least one")
    alone = served and not {"group", "groups"} & fields.keys()
    groups, members, for_all = ({}, {}, {}) if alone else _groups(fields, systems)
    scale, plain_events = autoscalers.parted(fields)
    events = _events(plain_events, brokers)
    topics = shorthands.topics(fields["topics"], brokers, ("topics",))
    variants = shorthands.items(fields.get("systems", ()), ("systems",))
    membership = Membership(groups, events, for_all)
    starting = membership.starting()
    load = fields.get("load", {})
    if isinstance(load, Mapping):
        threads = fields.get("threads", Scenario.model_fields["threads"].default)
        load = with_rates(load, topics, starting, threads)
    scenario = validated(
        Scenario,
        {
            **{name: value for name, value in fields.items() if name not in ("group", "keys")},
            "brokers": brokers,
            "controllers": shorthands.names(fields.get("controllers", ()), ("controllers",)),
            "topics": topics,
            "groups": starting,
            "scale": autoscalers.read(scale, starting),
            "load": _load({**fields, "load": load}, list(topics)),
            "run": validated(RunPart, fields["run"], ("run",)),
            "expect": None if fields.get("expect") is None else validated(ExpectPart, fields["expect"], ("expect",)),
            "systems": tuple(_system(variant, ("systems", number)) for number, variant in enumerate(variants)),
            "events": tuple(map(membership.completed, events)),
        },
        (),
    )
    checks.check_systems(scenario, systems, "systems" in fields)
    checks.check_replication(scenario, systems)
    checks.check_versions(scenario.versions, systems)
    for key, path in members.items():
        need_strategies(groups[key.group].members[key.member].strategy, checks.strategies_of(systems), path)
    _check_events(scenario, events, members, systems)
    checks.check_rates(scenario)
    if scenario.load.keys:
        checks.check_keys(scenario)
    if scenario.systems or systems is None:
        return scenario
    return scenario.model_copy(update={"systems": systems_left_out(scenario, systems)})


def systems_left_out(scenario: Scenario, systems: Systems) -> tuple[SystemPart, ...]:
    """The variants of a scenario that names none: by its brokers and by all who are or come there."""
    everybody = [member for group in scenario.groups.values() for member in group.members.values()]
    for event in scenario.events:
        if event.member_change in (MemberChange.JOINS, MemberChange.RESTARTS):
            joining = (event.part_after(name, None) for name in event.members())
            everybody += [part for part in joining if part is not None]
    return default_systems(systems, scenario.brokers, everybody)


def _events(given: Sequence[tuple[object, Path]], brokers: Sequence[str]) -> list[Written]:
    """The events in the order of their times, and where each is written."""
    written = [event for item, path in given for event in read_events(item, brokers, path)]
    return sorted(written, key=lambda each: each.event.at)


def _check_events(
    scenario: Scenario, written: Sequence[Written], members: Mapping[MemberKey, Path], systems: Systems | None
) -> None:
    checks.check_end(scenario, written)
    joining = {
        MemberKey(event.group or "", name): path
        for event, each in reversed(list(zip(scenario.events, written, strict=True)))
        if event.member_change is MemberChange.JOINS
        for name, path in each.members().items()
    }
    checks.check_node_names(scenario, {**joining, **members})
    checks.check_events(scenario, [each.path for each in written], systems)


def _groups(
    fields: Mapping[str, object], systems: Systems | None
) -> tuple[dict[str, GroupPart], dict[MemberKey, Path], dict[str, Settings]]:
    """The groups, where each (group, member) is written, and the settings of all members of a group. ``group:`` with a
    name inside stands for one."""
    of_members = frozenset[str]().union(*(each.of_members for each in (systems or {}).values()))
    if ("group" in fields) == ("groups" in fields):
        raise PartError(
            ("group",) if "group" in fields else ("groups",), "expected either groups or group, one of them"
        )
    if "groups" in fields:
        given: list[tuple[str, object, Path]] = [
            (name, each, ("groups", name)) for name, each in mapping(fields["groups"], ("groups",)).items()
        ]
    else:
        inside = dict(mapping(fields["group"], ("group",)))
        name = inside.pop("name", None)
        if not isinstance(name, str) or not name:
            raise PartError(("group", "name"), "is missing, expected the name of the group")
        given = [(name, inside, ("group",))]
    if not given:
        raise PartError(("groups",), "no group, expected at least one")
    groups: dict[str, GroupPart] = {}
    paths: dict[MemberKey, Path] = {}
    for_all: dict[str, Settings] = {}
    for name, each, path in given:
        groups[name], members, for_all[name] = shorthands.group(each, path, of_members)
        paths |= {MemberKey(name, member): place for member, place in members.items()}
    return groups, paths, for_all


def _load(fields: Mapping[str, object], topics: Sequence[str]) -> LoadPart:
    """What is produced. ``keys`` may stand beside it, and one spread for all topics."""
    path: Path = ("keys",) if "keys" in fields else ("load", "keys")
    load = dict(mapping(fields.get("load", {}), ("load",)))
    if "keys" in fields:
        if "keys" in load:
            raise PartError(path, "stands in load, too, expected it once")
        load["keys"] = fields["keys"]
    keys = load.get("keys", {})
    if isinstance(keys, str | int):
        load["keys"] = dict.fromkeys(topics, keys)
    return validated(LoadPart, load, ("load",))


def _system(given: object, path: Path) -> SystemPart:
    """A variant as its fields, or just as the system's name; the label is filled in."""
    made = validated(SystemPart, {"system": given} if isinstance(given, str) else given, path)
    return made if made.label else made.model_copy(update={"label": made.system})


LARGEST = 8 * 1024 * 1024
"""Files above this many bytes are no scenario."""


def read(path: str | pathlib.Path, registered: Systems | None = None, *, served: bool = False) -> Scenario:
    """The scenario in a YAML file. Raises `UserError`: one line that names the file, the line and the field. ``served``
    as of `build`."""
    return read_text(file_text(path), str(path), registered, served=served)


def file_text(path: str | pathlib.Path, what: str = "scenario") -> str:
    """The text of a YAML file, which is to be a ``what``. Raises `UserError`: one line that names the file."""
    source = str(path)
    try:
        raw = files.content(pathlib.Path(path), LARGEST)
    except OSError as error:
        raise UserError(f"{source}: cannot be read: {error.strerror}, expected a {what} file") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(f"{source} line {line}: no UTF-8, expected a YAML text") from None


def read_text(
    text: str, source: str = "scenario", registered: Systems | None = None, *, served: bool = False
) -> Scenario:
    """The scenario in a YAML text; ``source`` is what errors call it. Raises `UserError` as `read` does."""
    from protocols.scenario.yaml_values import parse  # scenarios made by programs need no YAML

    parsed = parse(text, source)
    try:
        return build(parsed.value, registered, served=served)
    except PartError as wrong:
        raise refusal(f"{source} line {parsed.line(wrong.path)}", wrong) from None


def scenario(
    given: Mapping[str, object] | None = None, /, *, registered: Systems | None = None, **fields: object
) -> Scenario:
    """The same from plain Python values: nested mappings and lists with the same fields and shorthands as a file.

    ``scenario(name="...", topics={"orders": 4}, group={...}, run={"for": "5min"}, events=[{"at": "10s", ...}])``, or
    one mapping with all of it. A float as a duration is in milliseconds. Raises `UserError` that names the field.
    """
    try:
        return build({**(given or {}), **fields}, registered)
    except PartError as wrong:
        raise refusal("scenario", wrong) from None


def refusal(where: str, wrong: PartError) -> UserError:
    """What is wrong with a part, in one line; ``where``: file and line."""
    path = path_text(wrong.path)
    return UserError(" ".join(f"{where}: {path + ': ' if path else ''}{wrong.problem}".split()))
