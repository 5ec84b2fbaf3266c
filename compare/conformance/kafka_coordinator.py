"""Plays the golden traces of Kafka's group coordinator: `coordinator-*.jsonl.gz`, both protocols.

The coordinator node itself is fed, one request a step, in a world of its own; format in
examples/recordings/kafka/FORMAT-coordinator.md. Every step is compared whole: answer, answers to parked requests with
their times, state or timeline. Member ids are real on both sides: those that the coordinator makes up are handed to it
from the recording, in the order in which they appear there.
"""

from collections.abc import Iterator, Mapping, Sequence

from compare.conformance.cases import Difference, Line, MalformedCase, Player, kafka_version
from compare.conformance.fields import differing, get, only
from compare.conformance.kafka_coordinator_shapes import (
    REQUESTS,
    answer,
    consumer_group_state,
    group_state,
    request,
    with_blank_rack,
)
from compare.conformance.kafka_requests import Request
from compare.conformance.kafka_share_groups import Persister, share_group_state, shown_call
from compare.json_types import Json
from kafka_coordinator.catalogue import topic_id
from kafka_coordinator.cluster import (
    GROUP_SETTINGS,
    INVALID_REQUEST,
    PERSISTER,
    BrokerSettings,
    ConsumerGroup,
    ConsumerGroupHeartbeat,
    Coordinator,
    Core,
    GroupSettings,
    OffsetsLeaders,
    Topics,
    with_settings,
)
from protocols.engine.nodes import Time
from protocols.engine.single import SingleNode
from protocols.errors import StrategyError, UserError
from protocols.java import sorted_as_java

LONGEST_MS = 100 * 24 * 3_600_000
"""Of a trace, in virtual time; a longer one is damaged rather than recorded."""

_CLIENT = "client"
_BROKER = "broker"
_NOBODY = ""
_UNCHANGED = "unchanged"
_MISSING = "nothing"

_LINE_FIELDS = (
    "trace_id",
    "kafka",
    "protocol",
    "scenario",
    "config",
    "topics",
    "topic_ids",
    "ids",
    "steps",
    "answers_only",
)
_STEP_FIELDS = (
    "n",
    "t",
    "op",
    "req",
    "resp",
    "pending",
    "completed",
    "state",
    "inner",
    "timeline",
    "completed_at_step",
    "persister_calls",
)

_STATES = ("state", "inner", "timeline", "persister_calls")
"""What a recording of answers alone does not tell."""

_READS = frozenset(("heartbeat", "offset_fetch", "describe_group", "consumer_group_describe", "share_group_describe"))
"""Operations that change no group: a trace has thousands of them, and looking at all members takes its time."""

_OF_A_MEMBER = {"metadata", "target_assignment"}
"""Fields that only the description of a member has."""

_ONE_SHARD = {"offsets.topic.num.partitions": 1}
"""The recording ran all groups on one partition of ``__consumer_offsets``."""
_NEVER_CLEANED = 1 << 62
"""Records: the recorded log kept all of them."""


def recognises(line: Line) -> bool:
    """Whether the line is meant to be a trace of a coordinator."""
    return "trace_id" in line and "protocol" in line


def play(line: Line) -> list[Difference]:
    """The differences of the first step that is not as recorded; none if the whole trace is."""
    only(line, "", _LINE_FIELDS)
    trace_id = get(line, "trace_id", str)
    steps = [only(each, f"steps[{n}]", _STEP_FIELDS) for n, each in enumerate(get(line, "steps", list))]
    for name in ("protocol", "scenario"):
        get(line, name, str)
    topic_ids = get(line, "topic_ids", dict) if "topic_ids" in line else {}
    topics, version = get(line, "topics", dict), get(line, "kafka", str) if "kafka" in line else None
    trace = Session(get(line, "ids", dict), get(line, "config", dict), topics, topic_ids, steps, version)
    answers_only = "answers_only" in line and get(line, "answers_only", bool)
    untold = {"completed_at_step", *(_STATES if answers_only else ())}
    for number, step in enumerate(steps):
        recorded, got = (
            trace.resolved({name: value for name, value in each.items() if name not in untold})
            for each in (step, trace.step(number, step))
        )
        differences = [
            Difference(trace_id, f"steps[{number}]{path}", expected, found)
            for path, expected, found in differing("", recorded, got, _MISSING)
        ]
        if differences:
            return differences
    return [
        Difference(trace_id, f"steps[{number}].completed_at_step", step.get("completed_at_step"), completed)
        for number, step in enumerate(steps)
        if step.get("completed_at_step") != (completed := trace.completed_at.get(number))
    ]


COORDINATOR_TRACES = Player("Kafka coordinator traces", recognises, play)
"""Plays traces of classic groups."""


class Session:
    """A coordinator that is being taken through a trace."""

    def __init__(
        self,
        ids: Mapping[str, Json],
        config: Mapping[str, Json],
        topics: Mapping[str, Json],
        topic_ids: Mapping[str, Json],
        steps: Sequence[Mapping[str, Json]],
        version: str | None = None,
    ) -> None:
        for step in steps:
            get(step, "op", str)
            get(step, "req", dict)
        self.completed_at: dict[int, int] = {}
        """Step of a parked request to the step that answered it."""
        self._groups: dict[str, None] = {}
        self._group_settings: dict[str, Mapping[str, int]] = {}
        self._reported: object = None
        self._inner: object = {}
        self._now = 0
        self.ids: dict[str, str] = {symbol: get(ids, symbol, str) for symbol in ids}
        named = {member_id for step in steps for member_id in _member_ids(get(step, "req", dict))}
        chosen = named.difference(ids)
        # Symbols are numbered in order of appearance; an id that a client made up has one, too, once it was answered.
        in_order = sorted(self.ids, key=_number_of)
        self._unused = [self.ids[symbol] for symbol in in_order if self.ids[symbol] not in chosen]
        try:
            base = BrokerSettings(load_ms=0, log_cleaner_least_records=_NEVER_CLEANED, version=kafka_version(version))
            settings = with_settings(base, {**_ONE_SHARD, **config}, "config")
        except UserError as error:
            raise MalformedCase("config", "settings of a broker", str(error)) from None
        self._tells_inner = version is not None
        self._persister = Persister()
        self._calls: list[Json] = []
        self.world = SingleNode(Coordinator(_BROKER, settings), new_id=self._new_id)
        self.world.start()
        try:
            self._topic_ids = {topic: topic_id(topic, get(topic_ids, topic, str)) for topic in topic_ids}
        except StrategyError as error:
            raise MalformedCase("topic_ids", "topics with their ids in base64", str(error)) from None
        self._set_topics(topics)

    def step(self, number: int, step: Mapping[str, Json]) -> dict[str, object]:
        """What the model does, as the recording would have it."""
        op, req = get(step, "op", str), get(step, "req", dict)
        got: dict[str, object] = {"n": number, "t": self._now, "op": op, "req": req}
        group_id = req.get("group_id")
        is_known = group_id in self._groups
        if isinstance(group_id, str) and group_id and op != "set_group_config":
            self._groups[group_id] = None
        if op == "advance":
            self._now += get(req, "ms", int)
            if not 0 <= self._now <= LONGEST_MS:
                raise MalformedCase(f"steps[{number}].req.ms", f"a trace of 0 to {LONGEST_MS} ms", req["ms"])
            got["timeline"] = list(self._timeline(self._now))
        elif op == "set_group_config":
            config = get(req, "config", dict)
            settings = {name: int(str(config[name])) for name in config if name in GROUP_SETTINGS}
            self._group_settings[str(group_id)] = settings
            self.world.command(self._now, GroupSettings(dict(self._group_settings)))
            return got
        elif op == "set_persister":
            self._persister.mode = get(req, "mode", str)
            return got
        else:
            self._request(op, number, req, step)
        answers = self._answers(number)
        own = answers.pop(number, None)
        if own is not None:
            got["resp"] = own[1]
        elif op in REQUESTS:
            got["pending"] = True
        got["completed"] = [{"step": n, "t": _whole(t), "resp": resp} for n, (t, resp) in sorted(answers.items())]
        if self._calls:
            got["persister_calls"], self._calls = self._calls, []
        if op != "advance":
            state = None if op in _READS and is_known else self._state()
            got["state"] = _UNCHANGED if state is None else state
            got |= self._changed_inner()
        return got

    def _set_topics(self, topics: Mapping[str, Json]) -> None:
        counts = {topic: get(topics, topic, int) for topic in topics}
        core = self.world.node.core
        offsets = {group.id: dict(group.offsets) for group in core.consumer_groups.values()}
        self.world.command(self._now, Topics(counts, ids=self._topic_ids))
        if not self._tells_inner:
            # These recordings told the coordinator the new metadata alone: a broker deletes offsets of deleted topics.
            for group in core.consumer_groups.values():
                group.offsets.update(offsets[group.id])

    def _request(self, op: str, number: int, req: Mapping[str, Json], step: Mapping[str, Json]) -> None:
        if op == "set_topics":
            self._set_topics(get(req, "topics", dict))
            return
        if op == "fail_over":
            for leader in (_NOBODY, _BROKER):
                self.world.command(self._now, OffsetsLeaders((leader,)))
            self.world.advance(self._now)
            return
        if op == "release_persister":
            for released in self._persister.release():
                self.world.command(self._now, released)
            return
        if op not in REQUESTS:
            raise MalformedCase(f"steps[{number}].op", f"one of {', '.join([*REQUESTS, 'set_topics', 'advance'])}", op)
        message = request(op, number, self._with_real_ids(req))
        if isinstance(message, ConsumerGroupHeartbeat) and _refused_as_invalid(step):
            message = with_blank_rack(message)
        self.world.receive(self._now, _CLIENT, message)
        # What is due at once happens within the step.
        self.world.advance(self._now)

    def _with_real_ids(self, req: Mapping[str, Json]) -> Request:
        real = {name: self.resolved(value, name) for name, value in req.items()}
        if isinstance(assignments := req.get("assignments"), dict):
            real["assignments"] = {self.ids.get(member, member): text for member, text in assignments.items()}
        return real

    def _timeline(self, until: Time) -> Iterator[dict[str, object]]:
        """What has changed after each timer, and at the end."""
        running = True
        while running:
            running = self.world.fire_next(until)
            if not running:
                self.world.advance(until)
            state = self._state() if running or self._reported is None else None
            if state is not None:
                yield {"t": _whole(self.world.now), "state": state, **self._changed_inner()}

    def _state(self) -> object:
        """All groups that any request has named so far; None if nothing is new since the last report."""
        core = self.world.node.core
        state = {group_id: self._shown(core, group_id) for group_id in self._groups}
        if state == self._reported:
            return None
        self._reported = state
        return state

    def _changed_inner(self) -> dict[str, object]:
        """What no request shows of the groups, if it is new since the last report."""
        if not self._tells_inner:
            return {}
        core = self.world.node.core
        inner = {
            group_id: _inner(core.consumer_groups[group_id])
            if group_id in core.consumer_groups
            else {"assigned_at": core.share_groups[group_id].assigned_at}
            for group_id in self._groups
            if group_id in core.consumer_groups or group_id in core.share_groups
        }
        if inner == self._inner:
            return {}
        self._inner = inner
        return {"inner": inner}

    @staticmethod
    def _shown(core: Core, group_id: str) -> Json:
        if group_id in core.share_groups:
            return share_group_state(core.share_groups[group_id])
        group = core.consumer_groups.get(group_id)
        return group_state(core.groups.get(group_id)) if group is None else consumer_group_state(group)

    def _answers(self, number: int) -> dict[int, tuple[Time, object]]:
        """Answers sent in this step, by the step of their request."""
        answers: dict[int, tuple[Time, object]] = {}
        sent = self.world.take_sent()
        for time, address, message in sent:
            if address == PERSISTER:
                self._calls.append(shown_call(message))
                if (told := self._persister.asked(message)) is not None:
                    self.world.command(self._now, told)
                    sent += self.world.take_sent()
                continue
            to: int = message[0]
            if to in answers or to in self.completed_at:
                raise AssertionError(f"the request of step {to} is answered twice")
            answers[to] = time, answer(message)
            if to != number:
                self.completed_at[to] = number
        return answers

    def _new_id(self, prefix: str) -> str:
        # The consumer protocol's ids, and those of classic members in its groups, have no prefix.
        if self._unused and (not prefix or self._unused[0].startswith(prefix + "-")):
            return self._unused.pop(0)
        return f"{prefix}-not-recorded"

    def resolved(self, value: object, name: str = "") -> object:
        """The value with real ids for symbols, and in one order where the recording's is arbitrary."""
        if isinstance(value, dict):
            keys = self.ids if name in ("members", "partition_epochs") else {}
            return {keys.get(key, key): self.resolved(each, key) for key, each in value.items()}
        if name in ("member_id", "leader"):
            return self.ids.get(value, value) if isinstance(value, str) else value
        if not isinstance(value, list):
            return value
        if name in ("member_order", "pending_sync"):
            listed = [self.ids.get(each, each) if isinstance(each, str) else each for each in value]
            return sorted(listed, key=str) if name == "pending_sync" else listed
        listed = [self.resolved(each) for each in value]
        described = [each for each in listed if isinstance(each, dict) and not each.keys().isdisjoint(_OF_A_MEMBER)]
        if name == "members" and len(described) == len(listed):
            # Sorted in the recording, but by symbol.
            return sorted(described, key=lambda each: str(each.get("member_id")))
        return listed


def _inner(group: ConsumerGroup) -> Json:
    """What a recording tells of a group besides: when its target was computed, since which epoch each partition has
    been its member's, what patterns match."""
    epochs = {
        member.id: sorted([topic, number, member.standing.since_epoch((topic, number))] for topic, number in held)
        for member in group.members.values()
        if (held := member.standing.held)
    }
    inner: dict[str, Json] = {"assigned_at": group.assigned_at, "partition_epochs": epochs}
    if group.resolved:
        inner["regexes"] = {regex: sorted_as_java(each.topics) for regex, each in group.resolved.items()}
    return inner


def _refused_as_invalid(step: Mapping[str, Json]) -> bool:
    answer = step.get("resp")
    return isinstance(answer, dict) and answer.get("error") == INVALID_REQUEST


def _member_ids(req: Mapping[str, Json]) -> Iterator[str]:
    """Ids of members in a request, as the recording writes them."""
    members = req.get("members")
    named = [req, *(member for member in (members if isinstance(members, list) else ()) if isinstance(member, dict))]
    yield from (id for each in named if isinstance(id := each.get("member_id"), str))


def _number_of(symbol: str) -> tuple[int, str]:
    return len(symbol), symbol


def _whole(time: Time) -> Time:
    return int(time) if time == int(time) else time
