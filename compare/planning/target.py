"""What `--to` asks for."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from compare.catalogues import OF_BOTH
from compare.planning.by_load import OF_KAFKA, OF_ROCKETMQ
from compare.planning.subject import STRATEGIES
from protocols.errors import UserError
from protocols.scenario.validation import suggestion

STATIC_MEMBERS = "static"
ASSIGN = ":assign"
_BY_LOAD = {"kafka": OF_KAFKA, "rocketmq": OF_ROCKETMQ}
MOST_MEMBERS, MOST_QUEUES = 10_000, 100_000

_MEMBERS = re.compile(r"members=([0-9]{1,9})", re.ASCII)
_QUEUES = re.compile(r"queues:(.+)=([0-9]{1,9})", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """``text`` as given. One of the others says what is asked for: ``strategy`` (with its ``system``), ``members``
    (their number), ``topic`` and ``queues`` (its number of queues), or none of them: static members. ``by_load``: by
    what queues bring, by a strategy (whose name depends on the group's system: `of`) or by lists for assign();
    ``capacity``: records per second that a member can handle, where the user says so."""

    text: str
    strategy: str = ""
    members: int = 0
    topic: str = ""
    queues: int = 0
    by_load: Literal["", "strategy", "lists"] = ""
    capacity: float | None = None

    def of(self, system: str) -> "Target":
        """The same for a group of this system."""
        return replace(self, strategy=_BY_LOAD[system]) if self.by_load == "strategy" else self

    @property
    def system(self) -> str:
        """The system of the strategy; empty where any will do."""
        if self.by_load:
            return "rocketmq" if self.text == OF_ROCKETMQ else ""
        if self.strategy:
            return next(system for system, names in STRATEGIES.items() if self.strategy in names)
        return "kafka" if self.text == STATIC_MEMBERS else ""


def parse(text: str) -> Target:
    """From the option's text; `UserError` says what was expected."""
    if text == STATIC_MEMBERS:
        return Target(text)
    name = text.removeprefix("kafka:").removeprefix("rocketmq:")
    if any(name in known for known in STRATEGIES.values()):
        return Target(text, strategy=name)
    if name == OF_KAFKA + ASSIGN:
        return Target(text, by_load="lists")
    if name in _BY_LOAD.values():
        return Target(name, by_load="strategy")
    if any(name == record.name for record in OF_BOTH):
        raise UserError(f"--to {text}: {name} needs settings of each member that a plan cannot know, expected another")
    matched = _MEMBERS.fullmatch(text)
    if matched and 1 <= int(matched[1]) <= MOST_MEMBERS:
        return Target(text, members=int(matched[1]))
    matched = _QUEUES.fullmatch(text)
    if matched and 1 <= int(matched[2]) <= MOST_QUEUES:
        return Target(text, topic=matched[1], queues=int(matched[2]))
    names = [name for known in STRATEGIES.values() for name in known]
    expected = suggestion(text, [*names, OF_KAFKA, OF_KAFKA + ASSIGN, STATIC_MEMBERS, "members=N", "queues:TOPIC=N"])
    raise UserError(f"--to {text}: {expected}")
