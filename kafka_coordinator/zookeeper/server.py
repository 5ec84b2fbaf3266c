"""ZooKeeper, as far as 0.8 consumers need it: a tree of nodes, ephemeral nodes, one-shot watches, sessions.

Requests are handled one after another, each atomic. A node belongs to the session that created it, or to nobody.
A session lasts as long as it is heard from within its timeout, over one connection after another. What a watch
reported is reported again with the next connection unless the client has watched again since: it may have given the
old connection up without reading what came last over it. Parents are created with their children.

In ZooKeeper `DataTree`, `WatchManager` and `SessionTracker`.
"""

from dataclasses import dataclass, field

from kafka_coordinator.zookeeper import messages
from kafka_coordinator.zookeeper.topics import RemoveNode, SetPersistent
from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.java import sorted_as_java
from protocols.node_state import NodeState

NOBODY = 0
"""The session of persistent nodes."""


@dataclass(slots=True, eq=False)
class Session(NodeState):
    """``peer``: node name of the client, None while it has no connection. ``owned``: its ephemeral nodes in order.
    ``fired``: watches that have fired and were not set again since, in order."""

    peer: str | None
    timeout_ms: int
    fired: dict[messages.WatchEvent, None] = field(default_factory=dict)
    owned: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ZooKeeper(NodeState):
    """The node. Invariant: a path exists at most once, so a partition has at most one owner node."""

    nodes: dict[str, tuple[messages.NodeData, int]] = field(default_factory=dict)
    """Path to (data, session that owns it or `NOBODY`)."""
    children: dict[str, dict[str, None]] = field(default_factory=dict)
    sessions: dict[int, Session] = field(default_factory=dict)
    watches: dict[tuple[str, str], dict[int, None]] = field(default_factory=dict)
    """(kind, path) to the sessions that watch."""
    _peers: dict[str, int] = field(default_factory=dict)
    _last: int = NOBODY

    def start(self, now: Time, out: Outbox) -> None:
        """Nothing to do."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """A session begins with a request."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """The session stays open without a connection until its timeout."""
        session = self._peers.pop(peer, NOBODY)
        if session in self.sessions:
            self.sessions[session].peer = None

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """A session has not been heard from: its nodes vanish."""
        session = self.sessions[timer[1]]
        peer = session.peer
        self._end(timer[1], out)
        if peer is not None:
            out.close(peer)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if sender == OPERATOR:
            self._command(message, out)
            return
        if isinstance(message, messages.OpenSession):
            self._open(now, sender, message, out)
            return
        session = self._peers.get(sender, NOBODY)
        if session == NOBODY:
            out.close(sender)
            return
        out.set_timer(("session", session), now + self.sessions[session].timeout_ms)
        out.send(sender, self._answer(session, message, out))

    def _open(self, now: Time, sender: str, message: messages.OpenSession, out: Outbox) -> None:
        number = message.session
        if number not in self.sessions:
            self._last = number = self._last + 1
            self.sessions[number] = Session(sender, message.timeout_ms)
        # A client that did not wait for the answer to its first attempt has begun another session.
        before = self.sessions.get(self._peers.get(sender, NOBODY))
        if before is not None:
            before.peer = None
        session = self.sessions[number]
        session.peer = sender
        self._peers[sender] = number
        out.set_timer(("session", number), now + session.timeout_ms)
        out.send(sender, messages.SessionOpened(message.correlation, number))
        for event in session.fired:
            out.send(sender, event)

    def _answer(self, session: int, message: Message, out: Outbox) -> Message:
        match message:
            case messages.Ping():
                return messages.Pong(message.correlation)
            case messages.GetData():
                return self._data(session, message)
            case messages.GetChildren():
                if message.watch:
                    self._watch(session, messages.CHILDREN, message.path)
                return messages.ChildrenAnswer(
                    message.correlation, tuple(sorted_as_java(self.children.get(message.path, ())))
                )
            case messages.Create():
                if message.path in self.nodes:
                    return messages.Done(message.correlation, messages.NODE_EXISTS)
                self._put(message.path, message.data, session, out)
                return messages.Done(message.correlation, "")
            case messages.SetData():
                self._put(message.path, message.data, NOBODY, out)
                return messages.Done(message.correlation, "")
            case messages.Delete():
                return messages.Done(message.correlation, "" if self._remove(message.path, out) else messages.NO_NODE)
            case messages.CloseSession():
                self._end(session, out)
                return messages.SessionClosed(message.correlation)
        raise TypeError(f"ZooKeeper knows no request {message!r}")

    def _command(self, message: Message, out: Outbox) -> None:
        match message:
            case SetPersistent():
                self._put(message.path, message.data, NOBODY, out)
            case RemoveNode():
                self._remove(message.path, out)
            case _:
                raise TypeError(f"ZooKeeper knows no command {message!r}")

    def _data(self, session: int, message: messages.GetData) -> messages.DataAnswer:
        if message.watch:
            self._watch(session, messages.DATA, message.path)
        if message.path not in self.nodes:
            return messages.DataAnswer(message.correlation, messages.NO_NODE, None)
        return messages.DataAnswer(message.correlation, "", self.nodes[message.path][0])

    def _watch(self, session: int, kind: str, path: str) -> None:
        self.watches.setdefault((kind, path), {})[session] = None
        self.sessions[session].fired.pop(messages.WatchEvent(kind, path), None)

    def _put(self, path: str, data: messages.NodeData, session: int, out: Outbox) -> None:
        new = path not in self.nodes
        self.nodes[path] = data, session
        self._fire(messages.DATA, path, out)
        if new:
            if session:
                self.sessions[session].owned[path] = None
            parent, _, name = path.rpartition("/")
            self.children.setdefault(parent, {})[name] = None
            self._fire(messages.CHILDREN, parent, out)

    def _remove(self, path: str, out: Outbox) -> bool:
        if path not in self.nodes:
            return False
        _, session = self.nodes.pop(path)
        if session:
            del self.sessions[session].owned[path]
        parent, _, name = path.rpartition("/")
        del self.children[parent][name]
        self._fire(messages.DATA, path, out)
        self._fire(messages.CHILDREN, parent, out)
        return True

    def _fire(self, kind: str, path: str, out: Outbox) -> None:
        for number in self.watches.pop((kind, path), ()):
            session = self.sessions[number]
            event = messages.WatchEvent(kind, path)
            session.fired[event] = None
            if session.peer is not None:
                out.send(session.peer, event)

    def _end(self, number: int, out: Outbox) -> None:
        """The session is over: its watches first, so that they do not report its own end."""
        session = self.sessions[number]
        out.cancel_timer(("session", number))
        for sessions in self.watches.values():
            sessions.pop(number, None)
        for path in list(session.owned):
            self._remove(path, out)
        del self.sessions[number]
        if session.peer is not None:
            self._peers.pop(session.peer, None)
