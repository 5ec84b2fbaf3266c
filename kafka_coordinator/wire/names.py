"""What members are called in facts, where clients choose their ids themselves: often several have the same.

A member is called by its client id; where another member of its group has that id and is still connected, a number is
added (``rdkafka``, ``rdkafka#2``). It keeps its name as long as it is a member, and whoever comes again over the same
connection, or after the connection of the one before is gone, has it again.

The coordinator takes the name for the client id (`ClientName`): so its facts and reasons name members, and nothing in
it changes.
"""

from typing import Final

_MOST: Final = 100_000
"""Names remembered at once; the oldest are forgotten."""


class ClientName(str):
    """A member's name, which knows the client id behind it."""

    __slots__ = ("client_id",)
    client_id: str

    def __new__(cls, name: str, client_id: str) -> "ClientName":
        made = super().__new__(cls, name)
        made.client_id = client_id
        return made


class _Holder:
    """Who has a name: the id of its member (empty while it has none), and the connection on which it spoke last."""

    __slots__ = ("group", "member_id", "name", "peer")

    def __init__(self, group: str, name: ClientName) -> None:
        self.group, self.name, self.member_id = group, name, ""
        self.peer: str | None = None


class Names:
    """The names of the members of all groups of a cluster."""

    def __init__(self) -> None:
        self._of_member: dict[tuple[str, str], _Holder] = {}
        """Group and member id."""
        self._holders: dict[tuple[str, str], dict[str, _Holder]] = {}
        """Group and client id to name to its holder."""
        self._of_peer: dict[str, dict[int, _Holder]] = {}
        """Connection to its holders, by identity."""

    def name(self, group: str, client_id: str, member_id: str, peer: str) -> ClientName:
        """What the sender of a request that joins is called."""
        holder = self._of_member.get((group, member_id)) if member_id else None
        if holder is None:
            holder = self._take(group, client_id, peer)
        self._set_peer(holder, peer)
        if member_id:
            self._set_member(holder, member_id)
        return holder.name

    def known(self, group: str, member_id: str) -> ClientName | None:
        """What the member is called; None for one that never joined."""
        holder = self._of_member.get((group, member_id))
        return None if holder is None else holder.name

    def given(self, group: str, peer: str, member_id: str) -> None:
        """The coordinator has told who joined last over this connection its member id."""
        for holder in reversed(self._of_peer.get(peer, {}).values()):
            if holder.group == group:
                self._set_member(holder, member_id)
                return

    def heard(self, group: str, member_id: str, peer: str) -> ClientName | None:
        """The member has spoken over this connection."""
        holder = self._of_member.get((group, member_id))
        if holder is None:
            return None
        self._set_peer(holder, peer)
        return holder.name

    def closed(self, peer: str) -> None:
        """The connection is gone: who spoke on it leaves its names to whoever comes next."""
        for holder in self._of_peer.pop(peer, {}).values():
            holder.peer = None

    def _take(self, group: str, client_id: str, peer: str) -> _Holder:
        holders = self._holders.setdefault((group, client_id), {})
        for holder in holders.values():
            if holder.peer == peer:
                return holder
        for holder in holders.values():
            if holder.peer is None:
                self._forget_member(holder)
                return holder
        name = client_id if not holders else f"{client_id}#{len(holders) + 1}"
        holder = holders[name] = _Holder(group, ClientName(name, client_id))
        return holder

    def _set_member(self, holder: _Holder, member_id: str) -> None:
        if holder.member_id != member_id:
            self._forget_member(holder)
            holder.member_id = member_id
            self._of_member[holder.group, member_id] = holder
            if len(self._of_member) > _MOST:
                del self._of_member[next(iter(self._of_member))]

    def _forget_member(self, holder: _Holder) -> None:
        self._of_member.pop((holder.group, holder.member_id), None)
        holder.member_id = ""

    def _set_peer(self, holder: _Holder, peer: str) -> None:
        if holder.peer != peer:
            if holder.peer is not None:
                self._of_peer.get(holder.peer, {}).pop(id(holder), None)
            holder.peer = peer
            self._of_peer.setdefault(peer, {})[id(holder)] = holder
