"""What keeps members from ever agreeing on who owns a queue, though all of them know all of them (spec 7.4 to 7.7)."""

from collections.abc import Sequence
from typing import NamedTuple

from protocols.scenario.fields import listed
from rocketmq_selfbalance.codes import BROADCASTING
from rocketmq_selfbalance.strategies import Strategy


class Standing(NamedTuple):
    """A member as it shares: its name, its client id, what it reads, and how it takes its share."""

    name: str
    client_id: str
    topics: tuple[str, ...]
    strategy: Strategy
    message_model: str


def why_several(owners: Sequence[Standing], members: Sequence[Standing] = ()) -> str | None:
    """Why these members will go on owning the same queue: a sentence without its end. None: no reason is known.

    ``members``: the whole group, where the sentence is to be the same for all its queues as far as it can.
    """
    everything = [each.name for each in owners if each.message_model == BROADCASTING]
    if everything and len(everything) == len(owners):
        return "the group is BROADCASTING: every member reads every queue"
    if everything:
        return (
            f"{listed(everything)}"
            f" {'is BROADCASTING and reads' if len(everything) == 1 else 'are BROADCASTING and read'} every queue"
        )
    if len({each.client_id for each in owners}) == 1 < len(owners):
        who = listed([each.name for each in owners])
        return f"{who} have the client id {owners[0].client_id!r}, and each takes the share of that id"
    return _strategies(owners) and _strategies(members or owners)


def why_nobody(members: Sequence[Standing], topic: str) -> str | None:
    """Why nobody in the group will ever own a queue of the topic, likewise."""
    strangers = [each.name for each in members if topic not in each.topics]
    if strangers and len(strangers) < len(members):
        many = "is a member and does" if len(strangers) == 1 else "are members and do"
        return (
            f"{listed(strangers)} {many} not read {topic}, so the share of"
            f" {'this member' if len(strangers) == 1 else 'these members'} has no owner"
        )
    ids = [each.client_id for each in members]
    twins = [each.name for each in members if ids.count(each.client_id) > 1]
    if twins:
        return f"{listed(twins)} do not have unique client ids, and members with the same id take the same share"
    return _strategies(members)


def _strategies(members: Sequence[Standing]) -> str | None:
    if len({each.strategy.name for each in members}) < 2:
        return None
    named = ", ".join(f"{each.name} {each.strategy.name}" for each in members)
    return f"the members use different strategies: {named}"
