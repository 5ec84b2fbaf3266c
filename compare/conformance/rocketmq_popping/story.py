"""Recordings of real clients that own no queues, gRPC and remoting, as stories for the engine: who was there with which
listener, what was done, which records came to which queues, and who was given them.

Of what a recording found out only the queues of the records go in, which producers and the proxy chose.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import Field

from compare.conformance.cases import Line, MalformedCase, validated
from compare.conformance.recordings import MOST_MS, Part
from compare.conformance.rocketmq_proxy.parts import first_counts
from compare.conformance.rocketmq_proxy.reading import Ms, Topology, read
from protocols import Queue
from rocketmq_selfbalance.cluster import CLASSIC, PUSH_CONSUMER

SEND: Final = "SEND_MESSAGE_V2"
_PUSH_THREADS: Final = 20
_AROUND_MS: Final = 250.0
"""So far from slow records others are told from them."""


class _Client(Part):
    id: str
    kind: str
    language: str = ""
    group: str = ""
    subscriptions: str = ""
    sleepMs: Ms = 0  # noqa: N815 - the recording's own names
    threads: int = _PUSH_THREADS
    failIf: str | None = None  # noqa: N815
    failTimes: int | None = None  # noqa: N815
    slowIf: str | None = None  # noqa: N815
    slowMs: Ms = 0  # noqa: N815


class _Action(Part):
    t_ms: Ms
    action: str
    client: str | None = None
    id: str | None = None
    topic: str | None = None
    group: str = ""
    queues: dict[str, int] | None = None
    subs: Any = None
    sleepMs: Ms = 0  # noqa: N815
    popShareQueueNum: int = 0  # noqa: N815
    failEvery: int = 0  # noqa: N815


class _Event(Part):
    t_ms: Ms
    event: str
    client: str | None = None
    messageId: str = ""  # noqa: N815


class _Delivery(Part):
    t_ms: Ms
    client: str
    topic: str = ""
    broker: str = ""
    queueId: int = 0  # noqa: N815
    offset: int = 0
    storedIn: str = ""  # noqa: N815
    messageId: str = ""  # noqa: N815
    body: str = ""
    attempt: int = 1
    key: str = ""
    reconsumeTimes: int = 0  # noqa: N815


class _Frame(Part):
    t_ms: Ms
    conn: int
    server: str = ""
    opaque: int = 0
    name: str = ""
    answerTo: str = ""  # noqa: N815
    ext: dict[str, str] = Field(default_factory=dict)


class _Recording(Part):
    name: str
    topology: Topology
    lengthMs: int = Field(ge=0, le=MOST_MS)  # noqa: N815
    loadAverage: list[float] = Field(default_factory=list)  # noqa: N815
    clients: list[_Client] = Field(default_factory=list)
    script: list[_Action] = Field(default_factory=list)
    events: list[_Event] = Field(default_factory=list)
    deliveries: list[_Delivery] = Field(default_factory=list)
    frames: list[_Frame] = Field(default_factory=list)


class _RemotingTopology(Part):
    topics: dict[str, dict[str, int]]


class Place(NamedTuple):
    """Where a record was first."""

    queue: Queue
    offset: int


class Sent(NamedTuple):
    """A record came to its queue. ``fails``: how often a listener cannot handle it; None: it can; 0: never."""

    at: float
    place: Place
    fails: int | None = None


class Given(NamedTuple):
    """A client was given a record."""

    at: float
    member: str
    place: Place
    attempt: int


class Member(NamedTuple):
    """``handle``: milliseconds for a record."""

    name: str
    begins: float
    topics: tuple[str, ...]
    handle: int
    threads: int


class Story(NamedTuple):
    """``settings`` of the variant; ``queues``: topic to broker to their number; ``actions``: what befalls members and
    brokers, as events of a scenario without their times."""

    name: str
    settings: Mapping[str, object]
    queues: Mapping[str, Mapping[str, int]]
    members: Sequence[Member]
    actions: Sequence[tuple[float, Mapping[str, object]]]
    sent: Sequence[Sent]
    given: Sequence[Given]
    length: float
    load: float
    """Of the two processors of the recording."""
    of_listeners: bool = False
    """Whether ``given`` tells when listeners began with records, and not when clients had them."""


def recognises_remoting(line: Line) -> bool:
    """Whether a line is meant to be a recording of classic clients that pop."""
    return isinstance(line.get("frames"), list) and isinstance(line.get("deliveries"), list)


def of_grpc(line: Line) -> Story | str:
    """The story, or why it is none for the engine. Raises `MalformedCase`."""
    told = validated(_Recording, line)
    clients = [client for client in told.clients if client.kind != "producer"]
    why = _why_not(told, clients)
    if why is not None:
        return why
    group = next(iter(told.topology.groups.values()))
    began = {event.client: float(event.t_ms) for event in told.events if event.event == "started"}
    members = [
        Member(each.id, began[each.id], tuple(each.subscriptions.split(";")), each.sleepMs, each.threads)
        for each in clients
    ]
    told = _until_python_closes(told, clients)
    places = _places(told)
    sent = _sent(told, clients, places)
    given = [Given(each.t_ms, each.client, places[each.messageId], each.attempt) for each in told.deliveries]
    recording = read(line)
    queues = {topic: first_counts(recording, topic) or part.queues for topic, part in told.topology.topics.items()}
    return Story(
        told.name,
        {
            "client": PUSH_CONSUMER,
            "retryMaxTimes": group.retryMaxTimes,
            "consumeMessageOrderly": group.consumeMessageOrderly,
        },
        queues,
        members,
        [*_actions(told), *_slow(told, clients, sent, places)],
        sent,
        given,
        float(told.lengthMs),
        max(told.loadAverage, default=0.0),
    )


def _until_python_closes(told: _Recording, clients: Sequence[_Client]) -> _Recording:
    """The recording until a Python client closes, which cancels its requests; the engine's ends them first, as Java's
    does."""
    python = {client.id for client in clients if client.language == "PYTHON"}
    until = min((each.t_ms for each in told.script if each.action == "close" and each.id in python), default=None)
    if until is None:
        return told
    kept = {name: [each for each in getattr(told, name) if each.t_ms < until] for name in ("script", "deliveries")}
    return told.model_copy(update={**kept, "lengthMs": until})


def _why_not(told: _Recording, clients: Sequence[_Client]) -> str | None:
    if {client.kind for client in clients} != {"push"}:
        return "its clients are no push consumers alone: a script calls them, or they are of another kind"
    if any(":" in client.subscriptions for client in clients):
        return "tags are not simulated"
    if len({(client.slowIf, client.slowMs) for client in clients}) != 1:
        return "listeners that are slow for single records, each for others"
    if {client.id for client in clients} - {each.client for each in told.events if each.event == "started"}:
        return "a client that never started"
    if len(told.topology.groups) != 1 or told.topology.proxySettings or len({client.group for client in clients}) != 1:
        return "settings of the proxy, or several groups"
    if not told.deliveries or {topic.type for topic in told.topology.topics.values()} - {"NORMAL", "FIFO"}:
        return "messages of another type, or none"
    return None


def _place(each: _Delivery) -> Place:
    return Place(Queue(each.topic, each.broker, each.queueId), each.offset)


def _places(told: _Recording) -> dict[str, Place]:
    """Message to where it was first. What nobody was given from there, as a request took it that nobody heard any more,
    is known as a copy of its broker's: it has a place that no other message has, in the order of sending."""
    found = {each.messageId: _place(each) for each in told.deliveries if each.storedIn == "topic"}
    taken: dict[Queue, set[int]] = {}
    for place in found.values():
        taken.setdefault(place.queue, set()).add(place.offset)
    order = [event.messageId for event in told.events if event.event == "sent"]
    copies = {each.messageId: each for each in told.deliveries if each.messageId not in found}
    for message in sorted(copies, key=lambda message: order.index(message) if message in order else len(order)):
        topic, broker = copies[message].topic, copies[message].broker
        queues = [queue for queue in sorted(taken) if (queue.topic, queue.broker) == (topic, broker)]
        free = [Place(queue, min(set(range(len(taken[queue]) + 1)) - taken[queue])) for queue in queues]
        gaps = [place for place in free if place.offset < max(taken[place.queue])] or free
        if not gaps:
            raise MalformedCase("deliveries", "a first delivery of the broker's", broker)
        found[message] = gaps[0]
        taken[gaps[0].queue].add(gaps[0].offset)
    return found


def _sent(told: _Recording, clients: Sequence[_Client], places: Mapping[str, Place]) -> list[Sent]:
    """When each record came to its queue, at the latest when it was given; in the order of its offsets."""
    at = {event.messageId: float(event.t_ms) for event in told.events if event.event == "sent"}
    bad, times = clients[0].failIf, clients[0].failTimes or 0
    firsts: dict[Place, Sent] = {}
    for each in sorted(told.deliveries, key=lambda each: each.t_ms):
        place, came = places[each.messageId], min(at.get(each.messageId, float(each.t_ms)), float(each.t_ms))
        fails = times if bad is not None and each.body.startswith(bad) else None
        firsts.setdefault(place, Sent(came, place, fails))
    return _in_order(firsts)


def _slow(
    told: _Recording, clients: Sequence[_Client], sent: Sequence[Sent], places: Mapping[str, Place]
) -> Iterator[tuple[float, Mapping[str, object]]]:
    """All members are slow while the records come for which their listeners are. Raises `MalformedCase` where others
    come among them."""
    begins, lasts = clients[0].slowIf, clients[0].slowMs
    if begins is None:
        return
    slow = {places[each.messageId] for each in told.deliveries if each.body.startswith(begins)}
    times = [each.at for each in sent if each.place in slow]
    others = [each.at for each in sent if each.place not in slow]
    if not times or any(times[0] - _AROUND_MS <= at <= times[-1] + _AROUND_MS for at in others):
        raise MalformedCase("deliveries", "slow records one after the other", "others among them")
    length = times[-1] - times[0] + 2 * _AROUND_MS
    yield times[0] - _AROUND_MS, {"slow": {each.id: f"{lasts}ms" for each in clients}, "for": f"{length:.0f}ms"}


def _in_order(firsts: Mapping[Place, Sent]) -> list[Sent]:
    """No record comes after one with a higher offset, and none is missing."""
    found: list[Sent] = []
    last: dict[Queue, Sent] = {}
    for place in sorted(firsts, reverse=True):
        sent, following = firsts[place], last.get(place.queue)
        if following is not None:
            if following.place.offset != place.offset + 1:
                raise MalformedCase("deliveries", "every record of a queue", f"none after offset {place.offset}")
            sent = sent._replace(at=min(sent.at, following.at))
        last[place.queue] = sent
        found.append(sent)
    return sorted(found)


def _actions(told: _Recording) -> Iterator[tuple[float, Mapping[str, object]]]:
    continued = {action.client: action.t_ms for action in told.script if action.action == "SIGCONT"}
    for action in told.script:
        words = action.action.split()
        who = action.client or action.id
        if action.action == "SIGKILL":
            yield action.t_ms, {"crash": who}
        elif action.action == "SIGSTOP":
            until = continued.get(action.client, told.lengthMs)
            yield action.t_ms, {"hang": who, "for": f"{until - action.t_ms}ms"}
        elif action.action in ("close", "shutdown"):
            yield action.t_ms, {"leave": who}
        elif action.action == "updateTopic" and action.queues is not None:
            yield action.t_ms, {"queues": dict.fromkeys(told.topology.topics, action.queues)}
        elif len(words) == 2 and words[1] in ("stopped", "up"):
            yield action.t_ms, {"broker": words[0], "does": "stop" if words[1] == "stopped" else "return"}


def _at_once(told: _Recording, start: _Action) -> int:
    """In how many threads a classic client's listener works, which the script does not say: as many as it was ever seen
    to work at once, each as long as the script says."""
    begins = sorted(each.t_ms for each in told.deliveries if each.client == start.id)
    lasts = start.sleepMs * 0.75
    return max((sum(at <= other < at + lasts for other in begins) for at in begins), default=1) or 1


def of_remoting(line: Line) -> Story | str:
    """Likewise of classic clients."""
    cluster = line.get("topology")
    topology = validated(_RemotingTopology, cluster if isinstance(cluster, Mapping) else {})
    told = validated(_Recording, {**line, "topology": {"brokers": {}}})
    starts = [action for action in told.script if action.action == "start"]
    modes = [action for action in told.script if action.action == "setConsumeMode"]
    if len(modes) != 1:
        return "the mode of the group changes, which no scenario does"
    if any(action.failEvery for action in told.script):
        return "listeners that fail for every n-th record are not simulated"
    began = {event.client: float(event.t_ms) for event in told.events if event.event == "started"}
    members = [
        Member(each.id or "", began[each.id], tuple(topology.topics), each.sleepMs, _at_once(told, each))
        for each in starts
    ]
    requests = {(each.conn, each.opaque): each for each in told.frames if each.name == SEND}
    keys: dict[str, Place] = {}
    firsts: dict[Place, Sent] = {}
    for frame in told.frames:
        asked = requests.get((frame.conn, frame.opaque))
        if frame.answerTo != SEND or asked is None or "queueOffset" not in frame.ext:
            continue
        place = Place(Queue(asked.ext["b"], asked.server, int(asked.ext["e"])), int(frame.ext["queueOffset"]))
        firsts[place] = Sent(float(asked.t_ms), place)
        keys[asked.ext["i"].split("\x01")[1].split("\x02")[0]] = place
    given = [Given(each.t_ms, each.client, keys[each.key], each.reconsumeTimes + 1) for each in told.deliveries]
    settings = {
        "client": CLASSIC,
        "popShareQueueNum": modes[0].popShareQueueNum,
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
    }
    sent, actions = _in_order(firsts), list(_actions(told))
    length, load = float(told.lengthMs), max(told.loadAverage, default=0.0)
    return Story(told.name, settings, topology.topics, members, actions, sent, given, length, load, of_listeners=True)
