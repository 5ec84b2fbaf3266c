"""Members that were away from a Kafka group and may be back under another id."""

from compare.logs.facts import Ordered, client_of
from compare.logs.processes import Processes
from compare.logs.rebalances import Departure

_BACK = {
    "poll": "member_rejoined_after_poll_timeout",
    "session": "member_rejoined_after_fencing",
    "not_rejoined": "member_rejoined_after_fencing",
}

_MOST = 2000
"""So many members that never came back are remembered."""

_NOTICED_S = 120.0
"""A client that was fenced says so at most so long before it joins again."""


class Away:
    """Who left and is not back; ``lines``: those of clients."""

    def __init__(self, processes: Processes, lines: Ordered) -> None:
        self._processes = processes
        self._fenced = lines.of("unknown_member", "session_over")
        self._away: list[Departure] = []

    def add(self, departure: Departure) -> None:
        """A member left."""
        self._away = [*self._away[-_MOST:], departure]

    def is_back(self, member: str) -> None:
        """A member is there: whoever it was before is not away any more."""
        known = self._predecessor(member)
        if known is not None:
            self._away.remove(known)

    def why_joined(self, member: str, at: float) -> tuple[str, ...]:
        """The causes that the logs allow for a member that is new at a time, likeliest first."""
        known = self._predecessor(member)
        process = self._processes.of_member.get(member)
        if known is None:
            return ("member_rejoined_after_fencing",) if self._was_fenced(member) else ("member_joined",)
        if process is not None and known.process is not None:
            return (_BACK.get(known.how, "member_joined"),) if process == known.process else ("member_joined",)
        if known.how == "poll":
            return (_BACK["poll"],)
        if known.how == "clean":
            return ("member_joined",)
        if known.how != "unknown" and self._noticed(client_of(member), at):
            return (_BACK[known.how],)
        return ("member_joined", _BACK.get(known.how, _BACK["poll"]))

    def _noticed(self, client: str, at: float) -> bool:
        return any(fact.client == client for fact in self._fenced.between(at - _NOTICED_S, at + 0.5))

    def _was_fenced(self, member: str) -> bool:
        """Whether the same process had another id before and said that the coordinator did not know that one."""
        process = self._processes.of_member.get(member)
        earlier = self._processes.members_of.get(process, []) if process else []
        return member in earlier[1:] and any(
            fact.kind == "unknown_member" and self._processes.of(fact) == process for fact in self._fenced.facts
        )

    def _predecessor(self, member: str) -> Departure | None:
        """Who left and may be back as this member: the same process, the same id, or the same client id."""
        process = self._processes.of_member.get(member)
        waiting = self._away
        for known in reversed(waiting):
            if known.member == member or (process is not None and known.process == process):
                return known
        if process is not None and process[1] and any(known.process is not None for known in waiting):
            waiting = [known for known in waiting if known.process is None or known.process[:2] == process[:2]]
        for known in reversed(waiting):
            if client_of(known.member) == client_of(member) != member:
                return known
        return None
