"""Members read other topics than before."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from protocols.scenario.descriptions import listed
from protocols.scenario.events.base import Event
from protocols.scenario.groups import MemberPart
from protocols.scenario.paths import Path
from protocols.scenario.shorthands import names
from protocols.scenario.validation import mapping, validated


class Subscribe(Event):
    """Members change their subscription at run time."""

    subscribe: dict[str, tuple[str, ...]]
    """Member to all the topics that it subscribes to from now on."""

    example: ClassVar[str] = "{at: 150s, subscribe: {c1: [orders, payments], c4: [orders]}}"
    changes_topics = True

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        inside = (*path, "subscribe")
        chosen = mapping(fields["subscribe"], inside)
        topics = {member: names(each, (*inside, member)) for member, each in chosen.items()}
        return validated(cls, {**fields, "subscribe": topics}, path)

    def describe(self) -> str:
        return listed(
            f"{member} subscribes to {listed(topics) if topics else 'nothing'}"
            for member, topics in self.subscribe.items()
        )

    def members(self) -> Mapping[str, Path]:
        return {member: ("subscribe", member) for member in self.subscribe}

    def part_after(self, member: str, before: MemberPart | None) -> MemberPart:
        was = MemberPart() if before is None else before
        return was.model_copy(update={"subscribe": self.subscribe[member], "pattern": None})
