"""Versions of Kafka as data: which rule of the group coordinator holds since which version (spec 11).

A version is what its rules say: code asks for a rule by its name and never compares a number. The rules of 4.1.0 and of
4.4.0 were compared with the released brokers; a version between them is composed of the rules whose first version is
known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple

from protocols.errors import UserError

NAMES: Final = ("4.1", "4.2", "4.3", "4.4")
"""In order of time."""
COMPARED: Final = ("4.1", "4.4")
"""Those whose answers were compared with a released broker's."""


def _rule(since: str, what: str, source: str) -> Any:
    return field(default=False, metadata={"since": since, "what": what, "source": source})


@dataclass(frozen=True, slots=True)
class Version:
    """One version: a rule's name is True where the rule holds."""

    name: str
    groups_begin_at_one: bool = _rule(
        "4.3", "A new group begins at group epoch 1 and assignment epoch 1; the first join makes it 2.", "4.3.1"
    )
    assignment_interval: bool = _rule(
        "4.3", "A group gets at most one new target per group.consumer.assignment.interval.ms.", "KIP-1263"
    )
    emptied_group_starts_anew: bool = _rule(
        "4.4", "A group that is emptied forgets when its last target was computed: the next joiner gets one.", "4.4.0"
    )
    cuts_to_subscription: bool = _rule(
        "4.2", "A member has at once no more than what it subscribes to, however old the target is.", "KAFKA-19862"
    )
    revoked_at_old_epoch: bool = _rule(
        "4.2", "A member that has given everything up goes on from its old epoch, not from the next one.", "4.4.0"
    )
    own_partitions_are_free: bool = _rule(
        "4.2", "A member does not wait for partitions that it must give up itself.", "4.4.0"
    )
    epoch_zero_is_never_fenced: bool = _rule(
        "4.2", "A known member that joins again gets its assignment again, whatever it says it owns.", "4.4.0"
    )
    pattern_taken_away_raises_epoch: bool = _rule(
        "4.2", "The group epoch rises when a member takes its pattern back; before, it did not.", "4.4.0"
    )
    partition_epochs: bool = _rule(
        "4.2", "A member commits with any epoch since which it has had the partition.", "KIP-1251"
    )
    replacing_resets_partition_epochs: bool = _rule(
        "4.3", "Who takes a static member's place may commit its partitions with any epoch.", "4.3.1"
    )
    describes_pending: bool = _rule("4.3", "A member's described assignment has what it must still give up.", "4.4.0")
    assignor_change_raises_epoch: bool = _rule(
        "4.4", "The group epoch rises when another assignor is preferred.", "4.4.0"
    )
    static_return_finds_room: bool = _rule(
        "4.4", "A static member may return into a group of the greatest size.", "4.4.0"
    )
    rejoining_renames_instance: bool = _rule(
        "4.4", "A member that joins again under another instance id loses the one it had.", "4.4.0"
    )
    malformed_subscription_is_inconsistent: bool = _rule(
        "4.4",
        "A classic subscription that cannot be read is refused with INCONSISTENT_GROUP_PROTOCOL.",
        "4.4.0",
    )
    classic_rejoins_for_target: bool = _rule(
        "4.3",
        "A classic member is told to join again when there is a new target, not a new group epoch.",
        "KAFKA-20272",
    )
    disabled_policy_refuses_classic: bool = _rule(
        "4.2", "With migration policy `disabled` no classic member joins a group of the consumer protocol.", "4.2.2"
    )
    classic_member_has_no_pattern: bool = _rule(
        "4.3", "A member that joins by the classic protocol loses its pattern.", "4.4.0"
    )
    downgrades_without_target: bool = _rule(
        "4.3",
        "A group becomes a classic one although a member has no target yet; before, UNKNOWN_SERVER_ERROR was answered.",
        "4.4.0",
    )
    replacement_downgrades_first: bool = _rule(
        "4.3",
        "A classic member that replaces the last one of the consumer protocol starts a rebalance where the target is"
        " older than the group.",
        "KAFKA-20273",
    )
    cordoned_directories: bool = _rule(
        "4.4", "What refuses a replication factor speaks of brokers whose log directories are cordoned.", "4.4.0"
    )
    group_bounds_are_ranges: bool = _rule(
        "4.4", "A group's setting out of its bounds is refused with the range that the broker allows.", "4.4.0"
    )
    group_settings_have_synonyms: bool = _rule(
        "4.4", "A group's described setting tells the broker's setting that it stands for.", "4.4.0"
    )
    refuses_unknown_by_name: bool = _rule(
        "4.4",
        "What a change of settings of a broker or its loggers names and there is not is refused by its name; before,"
        " UNKNOWN_SERVER_ERROR was answered.",
        "4.4.0",
    )
    simple_has_wishes: bool = _rule(
        "4.2", "The assignor of share groups gives each partition and each member an even number of places.", "4.4.0"
    )


class Rule(NamedTuple):
    """A row of the table."""

    name: str
    since: str
    what: str
    source: str


def rules() -> Iterator[Rule]:
    """All rules, in the order of the table."""
    for each in fields(Version):
        if each.metadata:
            yield Rule(each.name, **each.metadata)


def _version(name: str) -> Version:
    return Version(name, **{rule.name: NAMES.index(rule.since) <= NAMES.index(name) for rule in rules()})


VERSIONS: Final[Mapping[str, Version]] = {name: _version(name) for name in NAMES}
DEFAULT: Final = VERSIONS["4.1"]


def version_named(given: object, where: str) -> Version:
    """The version of this name; of ``4.4.0`` the first two numbers count, a number stands for its text. `UserError`
    names ``where``."""
    text = str(given) if isinstance(given, str | float) else ""
    version = VERSIONS.get(".".join(text.split(".")[:2]))
    if version is None or not all(part.isdigit() for part in text.split(".")):
        raise UserError(f"{where}: {given!r}, expected a version of Kafka: {', '.join(NAMES)}")
    return version
