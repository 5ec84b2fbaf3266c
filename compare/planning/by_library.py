"""The same change in other client libraries: what a setting is called there, which of them have another way, and which
have none."""

from collections.abc import Mapping
from dataclasses import dataclass

from compare.catalogues import SERVER
from compare.planning.kafka_routes import seems
from compare.planning.real_groups import with_library
from compare.planning.routes import way
from compare.planning.subject import JAVA, Route, Settings, Step, Subject
from compare.planning.target import Target
from compare.reading.client_libraries import LIBRARIES, Library, spelled
from protocols.errors import UserError

OF_ITS_OWN = "ONE_OF_ITS_OWN"
"""Stands for a value that is another one in every member."""


@dataclass(frozen=True, slots=True)
class LibraryWay:
    """The way of a group all of whose members use the library. ``route``: None where there is none; ``why`` says then
    why not."""

    library: Library
    route: Route | None
    why: str = ""


def library_ways(subject: Subject, target: Target) -> dict[str, LibraryWay]:
    """Key of each library to its way; {} for RocketMQ, whose strategies only its Java client takes."""
    if subject.system != "kafka":
        return {}
    return {key: _way(subject, target, library) for key, library in LIBRARIES.items()}


def _way(subject: Subject, target: Target, library: Library) -> LibraryWay:
    today, known = subject.strategy, f"{library.name} {library.known_at}"
    has = f"; it has {', '.join(library.assignors)}" if library.assignors else ""
    if target.strategy in SERVER or subject.consumer_protocol:
        lacks = "" if library.consumer_protocol else "does not speak the consumer protocol"
    elif today not in library.assignors:
        lacks = f"has no {today}, which this group uses: no member uses it, unless it brought an assignor of its own"
    else:
        lacks = ""
    if not lacks and target.strategy and target.strategy not in SERVER and library.assignor(target.strategy) is None:
        lacks = f"has no {target.strategy}{has}" + ("; it takes no assignor of yours" if target.by_load else "")
    return (
        LibraryWay(library, None, f"{known} {lacks}.")
        if lacks
        else LibraryWay(library, way(with_library(subject, library.key), target))
    )


def settings_by_library(
    route: Route, number: int, ways: Mapping[str, LibraryWay]
) -> tuple[dict[str, dict[str, object] | None], dict[str, str]]:
    """What a step (from 0 on) changes in a member, as each library has it; and of each library without such a step or
    setting (None) why."""
    found: dict[str, dict[str, object] | None] = {}
    why: dict[str, str] = {}
    for key, each in ways.items():
        found[key] = None
        if each.route is None:
            why[key] = each.why
        elif not is_alike(each.route, route):
            why[key] = f"{each.library.name} has another way, that of other_libraries: {each.route.steps[0].text}"
        elif (settings := spelled(each.library, common(each.route.steps[number]))) is None:
            why[key] = f"{each.library.name} is not known to have such a setting ({each.library.known_at})."
        else:
            found[key] = settings
    return found, why


def is_alike(one: Route, other: Route) -> bool:
    """Whether both have the same steps, but for the names of settings."""
    return [len(step.restart) for step in one.steps] == [len(step.restart) for step in other.steps]


def common(step: Step) -> Settings:
    """What changes in every member; `OF_ITS_OWN` where it is not the same in all."""
    each = list(step.settings.values())
    names = dict.fromkeys(name for settings in each for name in settings)
    return {
        name: value if all(settings.get(name) == (value := each[0].get(name)) for settings in each) else OF_ITS_OWN
        for name in names
    }


def own_settings(subject: Subject, step: Step) -> dict[str, dict[str, object]]:
    """Member to its settings as its library has them; in RocketMQ as they are. Raises `UserError` where a library is
    not known to have such a setting."""
    if subject.system != "kafka":
        return {member: dict(settings) for member, settings in step.settings.items()}
    found = {}
    for member, settings in step.settings.items():
        library = LIBRARIES[subject.libraries.get(member, JAVA)]
        own = spelled(library, settings)
        if own is None:
            lacking = ", ".join(name for name in settings if name not in library.options)
            raise UserError(
                f"{seems(subject, member)}, which is not known to have {lacking} ({library.known_at}), expected another"
                f" library there{'' if subject.libraries_given else ' (--library, if it is one)'}"
            )
        found[member] = own
    return found


def other_ways(subject: Subject, route: Route, ways: Mapping[str, LibraryWay]) -> list[LibraryWay]:
    """Where no library is known of a member, and the way depends on it: those of all libraries but Java's."""
    if not subject.untold or not any(step.settings for step in route.steps):
        return []
    return [each for key, each in ways.items() if key != JAVA]
