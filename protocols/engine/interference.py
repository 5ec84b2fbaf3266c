"""What a test may do to the requests of real clients on their way to a node: hold them back, or answer them in
the node's place. It is the gate of a world on sockets (`protocols.engine.sockets`)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from protocols.engine.nodes import Message
from protocols.engine.sockets import Sockets

Matches: TypeAlias = Callable[[str, str, Message], bool]
"""Node, sender and message: whether a request is meant."""

MakeAnswer: TypeAlias = Callable[[str, Message], Message | None]
"""Node and request to the answer that its sender is given; None: its connection is closed."""


@dataclass(eq=False, slots=True)
class Hold:
    """Requests that are kept from their node until they are released."""

    matches: Matches
    kept: list[tuple[str, str, Message]] = field(default_factory=list)
    """Node, sender and request, in the order in which they came."""


@dataclass(eq=False, slots=True)
class Reply:
    """Requests that are answered in the node's place, which never sees them."""

    matches: Matches
    make: MakeAnswer
    left: int
    """How many are still to be answered so."""
    answered: list[Message] = field(default_factory=list)


class Interference:
    """The rules in force; of several that match, the oldest counts."""

    def __init__(self, world: Sockets) -> None:
        self._world = world
        self._rules: list[Hold | Reply] = []
        world.gate = self._keeps

    def hold(self, matches: Matches) -> Hold:
        """Keep matching requests from now on, until `release`."""
        rule = Hold(matches)
        self._rules.append(rule)
        return rule

    def release(self, rule: Hold) -> None:
        """Hand on what is held, in the order in which it came, and hold nothing more."""
        if rule in self._rules:
            self._rules.remove(rule)
        kept, rule.kept = rule.kept, []
        for name, sender, message in kept:
            self._world.deliver(name, sender, message)

    def reply(self, matches: Matches, make: MakeAnswer, times: int) -> Reply:
        """Answer the next matching requests, so many, in the node's place."""
        rule = Reply(matches, make, times)
        self._rules.append(rule)
        return rule

    def _keeps(self, name: str, sender: str, message: Message) -> bool:
        for rule in self._rules:
            if not rule.matches(name, sender, message):
                continue
            if isinstance(rule, Hold):
                rule.kept.append((name, sender, message))
            else:
                rule.left -= 1
                rule.answered.append(message)
                if rule.left <= 0:
                    self._rules.remove(rule)
                self._answer(name, sender, rule.make(name, message))
            return True
        return False

    def _answer(self, name: str, sender: str, answer: Message | None) -> None:
        if answer is None:
            self._world.processes[name].close(sender)
        else:
            self._world.processes[name].send(sender, answer)
