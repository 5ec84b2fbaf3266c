"""The member behind a commit: a broker knows its clients, the scenario its members."""

from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import Observer
from protocols.facts import Committed
from protocols.scenario.topology import Topology


class MemberNames:
    """An observer that passes every report on, with members where a broker names the node of a client. (No request
    carries a member's name; a client has one member of a group at most.)"""

    __slots__ = ("_following", "_topology")

    def __init__(self, following: Observer, topology: Topology) -> None:
        self._following, self._topology = following, topology

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        """See `protocols.engine.simulation.Observer`."""
        if type(fact) is Committed and fact.member is not None:
            for each in self._topology.members.get(fact.member, ()):
                if each.group == fact.group and each.member != fact.member:
                    fact = fact._replace(member=each.member)
                    break
        self._following.fact(now, node, fact, root, cause)

    def created(self, number: int, due: Time, kind: int, node: str, what: object, cause: int) -> None:
        """See `protocols.engine.simulation.Observer`."""
        self._following.created(number, due, kind, node, what, cause)

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        """See `protocols.engine.simulation.Observer`."""
        self._following.sent(now, arrives, sender, to, message, number, cause)

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        """See `protocols.engine.simulation.Observer`."""
        self._following.harmed(now, sender, to, lost)
