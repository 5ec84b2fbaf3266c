"""Stories of the explorer that the released coordinators have confirmed, and how a story becomes a trace of requests
that they can be asked (`tests.slow.test_coordinator_stories`), in the form of
examples/recordings/kafka/FORMAT-coordinator.md.

A trace begins with an empty broker: what the members said until the group had settled, then the story, then the fair
run for `AFTER_MS`, last two questions what the group is. A story has an order but no times, a trace has both: a step
takes `STEP_MS`, and a timer of the broker fires at its time. Where another timer would fire before it, the coordinator
answers otherwise than in the story, which `Told.differing` counts.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from compare.conformance import served
from compare.conformance.kafka_coordinator_shapes import ANSWERS, OPERATIONS, answer, written
from compare.exploring.answers import Answers, answered
from compare.exploring.properties import EVERY_QUEUE, FAIR_SHARE, Subject, subject_of
from compare.exploring.search import Limits
from compare.exploring.settling import Fates
from compare.exploring.story import Step, steps_of
from compare.running.systems import read
from compare.running.variants import variants_of
from kafka_coordinator.assignors.translation import topic_id
from protocols.engine.exploration import Bounds
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import Simulation
from protocols.scenario import exploring

STEP_MS: Final = 1.0
AFTER_MS: Final = 60_000.0
_ASKS: Final = ("join_group", "sync_group", "heartbeat", "leave_group", "offset_commit", "consumer_group_heartbeat")
_DESCRIBES: Final = ("consumer_group_describe", "describe_group")


class Story(NamedTuple):
    """A violation that is published. ``shows``: what the coordinator answers to the last question of all, the state
    and (instance, partitions); or errors that a member is answered, which end it."""

    scenario: str
    system: str
    property: str
    bounds: Bounds
    steps: int
    shows: tuple[str, ...]


_FIRST, _NONE = Bounds(1, 1), Bounds(1, 0)
STORIES: Final = (
    Story("upgrade-joining", "kafka:range", FAIR_SHARE, _FIRST, 13, ("Stable", "X 0 1 2 3", "Y")),
    Story("upgrade-joining", "kafka:cooperative-sticky", FAIR_SHARE, _FIRST, 13, ("Stable", "X 0 1 2 3", "Y")),
    Story("upgrade-joining", "kafka:range", EVERY_QUEUE, _FIRST, 20, ("Stable", "X", "Y")),
    Story("upgrade", "kafka:range+static", FAIR_SHARE, _NONE, 15, ("UNRELEASED_INSTANCE_ID",)),
    Story("upgrade", "kafka:range+static", EVERY_QUEUE, _NONE, 30, ("UNRELEASED_INSTANCE_ID",)),
    Story("downgrade", "kafka:uniform+static", FAIR_SHARE, _NONE, 14, ("Stable", "c1 2 3", "c2 0 1")),
)
"""The same in both versions."""
VERSIONS: Final = ("4.1.0", "4.4.0")
GOLDEN: Final = Path(__file__).parents[1] / "golden" / "kafka" / "coordinator-stories.jsonl.gz"
_SCENARIOS: Final = Path(__file__).parents[2] / "examples" / "explore"


class Told(NamedTuple):
    """A story as a trace with the model's answers. ``why``: what is wrong from its end on; ``differing``: answers that
    are others in the trace than in the story, because its timers fire at their times."""

    steps: int
    why: str
    trace: Mapping[str, Any]
    differing: int


class _Messages:
    """What was sent, in a simulation that tells it: (arrives or was sent, process, request or answer)."""

    def __init__(self) -> None:
        self.of: list[tuple[Time, str, Message, bool]] = []

    def sent(self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, *_: int) -> None:
        if OPERATIONS.get(type(message)) in _ASKS and arrives is not None:
            self.of.append((arrives, sender, message, True))
        elif type(message) in ANSWERS:
            self.of.append((now, to, message, False))


def _heard(observer: type, messages: _Messages) -> Any:
    """While this lasts, an observer of this class tells the messages of its simulation."""
    return patch.multiple(observer, sent=lambda self, *given: messages.sent(*given))


def told(story: Story, version: str) -> Told | None:
    """The shortest story that violates the property, as long as it is no longer than written; None: there is none."""
    written_for = read(_SCENARIOS / f"{story.scenario}.yaml")
    scenario = written_for.model_copy(update={"versions": {"kafka": version.removesuffix(".0")}})
    (variant,) = variants_of(scenario, [story.system])
    name = story.property
    settling = _Messages()
    with patch.object(exploring, "Simulation", partial(Simulation, tracing=True)), _heard(exploring._Told, settling):
        subject = subject_of(variant, (name,), story.bounds)
    found: Answers = answered(subject, (name,), Limits(story.steps), lambda depth, states: None)
    if name not in found.stories:
        return None
    actions, why = found.stories[name]
    steps = steps_of(subject.settled.world, subject.settled.first, actions)
    trace, differing = _trace(subject, steps, settling, version)
    trace_id = f"{story.scenario} {story.system} {name} {version}"
    return Told(len(steps), why, {**trace, "trace_id": trace_id, "scenario": story.scenario}, differing)


def shown(trace: Mapping[str, Any]) -> set[str]:
    """All that `Story.shows` may name of a trace: errors of answers, and of the descriptions of the group its state and
    epoch, and of each member (its instance id, or its id) the partitions, and those that it is to have."""
    answers = [each for step in trace["steps"] for each in (step, *step["completed"]) if "resp" in each]
    found = {str(each["resp"].get("error")) for each in answers}
    found |= {str(result[-1]) for each in answers for result in each["resp"].get("results", ())}
    for step in (each for each in trace["steps"] if each["op"] in _DESCRIBES):
        if step["resp"]["error"] == "NONE":
            found |= {step["resp"]["state"], f"epoch {step['resp'].get('group_epoch')}"}
            for member in step["resp"]["members"]:
                name = member["instance_id"] or member["member_id"]
                found.add(" ".join([name, *_numbers(member["assignment"])]))
                found.add(" ".join([name, "to", *_numbers(member.get("target_assignment", ()))]))
    return found


def _numbers(assignment: str | Sequence[Sequence[object]]) -> list[str]:
    if isinstance(assignment, str):
        return [each.rpartition("-")[2] for each in assignment.removeprefix("P:").split(",") if each]
    return [str(number) for _, number in assignment]


def _trace(subject: Subject, steps: Sequence[Step], settling: _Messages, version: str) -> tuple[Mapping[str, Any], int]:
    world, group = subject.settled.world, next(iter(subject.lived.groups))
    base = world.steps.now
    events = [each for each in settling.of if each[0] <= base]
    story, end = _story(subject, steps)
    after = _Messages()
    with patch.object(exploring, "Simulation", partial(Simulation, tracing=True)), _heard(exploring._Owners, after):
        Fates(subject).run(steps[-1].state, 0)
    fair = [(at + end - base, *rest) for at, *rest in after.of if at <= base + AFTER_MS]
    in_order = sorted([*events, *story, *fair], key=lambda each: each[0])
    counts = {topic: len(queues) for topic, queues in _topics(subject).items()}
    ids = topic_ids(counts)
    lines: list[Mapping[str, object]] = [
        {"served": "kafka", "kafka": version, "config": {}, "topics": counts, "topic_ids": ids}
    ]
    for at, process, message, asks in in_order:
        line = {"at": at, "n": message[0]}
        if asks:
            what = {"op": OPERATIONS[type(message)], "group": group, "req": written(message)}
            lines.append({**line, "from": process, **what})
        else:
            lines.append({**line, "to": process, "resp": answer(message)})
    last = in_order[-1][0] + 1
    lines += [{"at": last, "from": "", "n": n, "op": op, "group": group, "req": {}} for n, op in enumerate(_DESCRIBES)]
    (trace,) = served.traces(served.written(json.dumps(line).encode() for line in lines))
    return trace.content, trace.differing


def topic_ids(topics: Iterable[str]) -> dict[str, str]:
    """The ids that the model gives topics, as Kafka writes them."""
    return {each: urlsafe_b64encode(topic_id(each, None).to_bytes(16, "big")).decode().rstrip("=") for each in topics}


def _topics(subject: Subject) -> Mapping[str, Sequence[object]]:
    from compare.running.run_variant import ending
    from compare.running.systems import system_of

    last = ending(subject.lived, system_of(subject.variant.part.system).numbering)
    return next(iter(last.groups.values())).topics


def _story(subject: Subject, steps: Sequence[Step]) -> tuple[list[tuple[Time, str, Message, bool]], Time]:
    """The messages of a story, and when it ends."""
    world, state = subject.settled.world, subject.settled.first
    at = world.steps.now
    found: list[tuple[Time, str, Message, bool]] = []
    for step in steps:
        kind, of, what = step.action.kind, step.action.of, step.action.what
        at += STEP_MS
        if kind == "timer" and of in subject.lived.brokers:
            name = world.timers(state, of)[int(what)]
            living = world.steps.livings[world.run(state, of).living]
            assert living is not None
            at = max(at, dict(living.timers)[name])
        elif kind == "deliver":
            message = world.in_flight(state, of, str(what))[0]
            if OPERATIONS.get(type(message)) in _ASKS:
                found.append((at, of, message, True))
        found += [
            (at, str(each.peer), each.what, False)
            for each in step.happened
            if each.kind == "send" and type(each.what) in ANSWERS
        ]
        state = step.state
    return found, at
