"""Versions of RocketMQ as data: which rule of its broker and of its classic client holds since which version (spec 15).

What 4.5.2 does otherwise than 5.3.3 (spec 12) is mostly another default and stands beside the settings; what changed
after 5.3.3 are the rules here.
"""

from dataclasses import dataclass
from typing import Final

from protocols.versions import Versions, rule


@dataclass(frozen=True, slots=True)
class Version:
    """One version: a rule's name is True where the rule holds."""

    name: str
    topics_have_their_groups: bool = rule(
        "5.4", "The broker's table from topics to groups holds groups; before, it held the topic's own name.", "5.4.0"
    )
    deleted_topic_has_no_offsets: bool = rule(
        "5.4", "Deleting a topic also deletes pull offsets and pending resets of its groups.", "5.4.0"
    )
    pull_offsets_are_written: bool = rule(
        "5.5", "consumerOffset.json also has the pull offsets; nobody reads them back.", "5.5.0"
    )
    local_entries_have_lines: bool = rule(
        "5.4", "In a client's file of offsets each entry begins on a line of its own (fastjson2).", "5.4.0"
    )
    no_queues_is_balanced: bool = rule(
        "5.5",
        "A topic without a readable queue is balanced, told to the listener, and nobody is asked for its members.",
        "5.5.0",
    )
    no_members_is_balanced: bool = rule(
        "5.5", "An empty list of members is balanced, and nothing is done; before, the strategy refused it.", "5.5.0"
    )
    orderly_reset_waits_for_listeners: bool = rule(
        "5.5",
        "An orderly consumer whose offsets are reset waits until its listener returns, 10 s a queue at most;"
        " before, 10 s always.",
        "5.5.0",
    )
    pop_goes_down: bool = rule(
        "5.4", "A pop over all queues of a broker takes them in descending order of their numbers.", "5.4.0"
    )


VERSIONS: Final = Versions("RocketMQ", Version, ("4.5", "5.3", "5.4", "5.5"), compared=("5.3", "5.4", "5.5"))
DEFAULT: Final = VERSIONS.newest
