"""Versions of Kafka as data: which rule of its brokers holds since which version (spec 11, spec share 9).

Why rules and not numbers: code that asks for a rule by its name says what differs, and a version that nobody compared
with a broker is composed of the rules whose "since" is known. Each rule names its source; a version of Kafka that
changes one of them adds a row here and a branch where the rule is asked for, nothing else.
"""

from dataclasses import dataclass
from typing import Final

from protocols.versions import Versions, rule


@dataclass(frozen=True, slots=True)
class Version:
    """One version: a rule's name is True where the rule holds."""

    name: str
    groups_begin_at_one: bool = rule(
        "4.3", "A new group begins at group epoch 1 and assignment epoch 1; the first join makes it 2.", "4.3.1"
    )
    assignment_interval: bool = rule(
        "4.3", "A group gets at most one new target per group.consumer.assignment.interval.ms.", "KIP-1263"
    )
    emptied_group_starts_anew: bool = rule(
        "4.4", "A group that is emptied forgets when its last target was computed: the next joiner gets one.", "4.4.0"
    )
    cuts_to_subscription: bool = rule(
        "4.2", "A member has at once no more than what it subscribes to, however old the target is.", "KAFKA-19862"
    )
    revoked_at_old_epoch: bool = rule(
        "4.2", "A member that has given everything up goes on from its old epoch, not from the next one.", "4.4.0"
    )
    own_partitions_are_free: bool = rule(
        "4.2", "A member does not wait for partitions that it must give up itself.", "4.4.0"
    )
    epoch_zero_is_never_fenced: bool = rule(
        "4.2", "A known member that joins again gets its assignment again, whatever it says it owns.", "4.4.0"
    )
    pattern_taken_away_raises_epoch: bool = rule(
        "4.2", "The group epoch rises when a member takes its pattern back; before, it did not.", "4.4.0"
    )
    partition_epochs: bool = rule(
        "4.3", "A member commits with any epoch since which it has had the partition.", "KIP-1251"
    )
    replacing_resets_partition_epochs: bool = rule(
        "4.3", "Who takes a static member's place may commit its partitions with any epoch.", "4.3.1"
    )
    describes_pending: bool = rule("4.3", "A member's described assignment has what it must still give up.", "4.4.0")
    assignor_change_raises_epoch: bool = rule(
        "4.4", "The group epoch rises when another assignor is preferred.", "4.4.0"
    )
    static_return_finds_room: bool = rule(
        "4.4", "A static member may return into a group of the greatest size.", "4.4.0"
    )
    rejoining_renames_instance: bool = rule(
        "4.4", "A member that joins again under another instance id loses the one it had.", "4.4.0"
    )
    malformed_subscription_is_inconsistent: bool = rule(
        "4.4", "A classic subscription that cannot be read is refused with INCONSISTENT_GROUP_PROTOCOL.", "4.4.0"
    )
    classic_rejoins_for_target: bool = rule(
        "4.3",
        "A classic member is told to join again when there is a new target, not a new group epoch.",
        "KAFKA-20272",
    )
    disabled_policy_refuses_classic: bool = rule(
        "4.2", "With migration policy `disabled` no classic member joins a group of the consumer protocol.", "4.2.2"
    )
    classic_member_has_no_pattern: bool = rule(
        "4.3",
        "A member that joins by the classic protocol loses its pattern, and old patterns are resolved anew.",
        "4.4.0",
    )
    downgrades_without_target: bool = rule(
        "4.3",
        "A group becomes a classic one although a member has no target yet; before, UNKNOWN_SERVER_ERROR was answered.",
        "4.4.0",
    )
    replacement_downgrades_first: bool = rule(
        "4.3",
        "A classic member that replaces the last one of the consumer protocol starts a rebalance where the target is"
        " older than the group.",
        "KAFKA-20273",
    )
    cordoned_directories: bool = rule(
        "4.4", "What refuses a replication factor speaks of brokers whose log directories are cordoned.", "4.4.0"
    )
    group_bounds_are_ranges: bool = rule(
        "4.4", "A group's setting out of its bounds is refused with the range that the broker allows.", "4.4.0"
    )
    group_settings_have_synonyms: bool = rule(
        "4.4", "A group's described setting tells the broker's setting that it stands for.", "4.4.0"
    )
    refuses_unknown_by_name: bool = rule(
        "4.4",
        "What a change of settings of a broker or its loggers names and there is not is refused by its name; before,"
        " UNKNOWN_SERVER_ERROR was answered.",
        "4.4.0",
    )
    simple_has_wishes: bool = rule(
        "4.2", "The assignor of share groups gives each partition and each member an even number of places.", "4.4.0"
    )
    subscribed_alone_raise_share_epoch: bool = rule(
        "4.2",
        "A share group's epoch rises for initialized partitions of subscribed topics alone, not of others.",
        "4.2.0",
    )
    initialize_retry_is_a_setting: bool = rule(
        "4.2", "The persister is asked again after group.share.initialize.retry.interval.ms.", "4.2.0"
    )
    altering_makes_share_group: bool = rule(
        "4.2",
        "AlterShareGroupOffsets makes the share group that there is not, and answers what the persister says.",
        "4.4.0",
    )
    known_topics_grow_from_zero: bool = rule(
        "4.4", "New partitions of a topic that a share group knows are read from their beginning.", "4.4.0"
    )
    share_answers_are_joined: bool = rule(
        "4.2", "Acquired offsets of one batch with the same delivery count are answered as one range.", "spec share 9"
    )
    share_closing_keeps_count: bool = rule(
        "4.2", "Records that a closed share session gives back keep their delivery count.", "spec share 9"
    )
    share_closing_passes_others: bool = rule(
        "4.2",
        "A closed share session gives back its records behind those of another member in a batch.",
        "spec share 9",
    )
    share_archives_all: bool = rule(
        "4.2", "All available records that are no longer in the log are archived, in every batch.", "spec share 9"
    )
    share_gaps_end: bool = rule(
        "4.2", "The search for gaps among loaded states ends once the last loaded offset is passed.", "spec share 9"
    )
    share_throttles: bool = rule(
        "4.2",
        "Records that were given back often are given few at a time, on their last attempt alone.",
        "spec share 9",
    )
    share_seeks_after_writes: bool = rule(
        "4.2", "Released records are fetched again once their release is written, not before.", "spec share 9"
    )
    share_limit_is_strict: bool = rule(
        "4.2", "A fetch acquires no more records than the limit of records in flight leaves.", "spec share 9"
    )
    share_start_never_goes_back: bool = rule(
        "4.2", "The start offset of a share-partition does not go back after the log start moved.", "spec share 9"
    )
    share_states_are_joined: bool = rule(
        "4.2", "All equal neighbours among persisted states are joined.", "spec share 9"
    )
    share_buries: bool = rule(
        "4.4", "Records that are rejected or given too often go to the share group's dead letter topic.", "KIP-1191"
    )
    share_renews: bool = rule("4.2", "An acknowledgement of type RENEW sets the lock anew.", "KIP-1222")


VERSIONS: Final = Versions("Kafka", Version, ("4.1", "4.2", "4.3", "4.4"), compared=("4.1", "4.4"))
DEFAULT: Final = VERSIONS.newest
