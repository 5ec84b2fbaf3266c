"""A plan's proof: the move from the classic protocol to the consumer protocol, explored with two members of the group.

What is explored is named in the answer: two members that read one topic, each restarted once, in the group's order, at
any moment of the other's rebalances, messages as late as they like; no session and no rebalance times out at the
broker. A larger group, or one whose members' sessions end meanwhile, is not.
"""

from collections.abc import Mapping
from typing import Final

from compare.exploring.answers import Answers, answered, document
from compare.exploring.properties import EVERY_QUEUE, FAIR_SHARE, SETTLES, subject_of
from compare.exploring.search import Limits
from compare.planning.document import ProofRecord
from compare.planning.kafka_routes import describe
from compare.planning.simulating import as_event, members_before
from compare.planning.subject import Fields, Route, Step, Subject
from compare.reading.client_libraries import PROTOCOL
from compare.running.systems import scenario
from compare.running.variants import Variant
from protocols.engine.exploration import Bounds

PROPERTIES: Final = (EVERY_QUEUE, FAIR_SHARE, SETTLES)
BOUNDS: Final = Bounds(client_firings=1, server_firings=0)
MOST_STATES: Final = 300_000
MOST_MEMBERS: Final = 2
PARTITIONS: Final = 4
_TOPIC: Final = "topic"


def proof_of(subject: Subject, route: Route) -> ProofRecord | None:
    """What exploring the step says that moves the members to the consumer protocol; None: no step does."""
    moving = [
        number
        for number, step in enumerate(route.steps)
        if any(settings.get(PROTOCOL) == "consumer" for settings in step.settings.values())
    ]
    if not moving or subject.consumer_protocol:
        return None
    number, step = moving[0], route.steps[moving[0]]
    explored = subject_of(_variant(subject, members_before(subject, route.steps[:number]), step), PROPERTIES, BOUNDS)
    found = answered(explored, PROPERTIES, Limits(states=MOST_STATES), lambda depth, states: None)
    told = document(explored, found)
    return {
        "step": number + 1,
        "members": min(len(subject.names), MOST_MEMBERS),
        "partitions": PARTITIONS,
        "properties": list(PROPERTIES),
        "client_firings": BOUNDS.client_firings,
        "broker_firings": BOUNDS.server_firings,
        "states": found.states,
        "complete": found.complete,
        "unsafe": [
            {
                "property": each["name"],
                "story": each["story"],
                "check": _check(subject, found, each["name"]),
            }
            for each in told["properties"]
            if not each["held"]
        ],
    }


def _variant(subject: Subject, members: Mapping[str, Fields], step: Step) -> Variant:
    names = subject.names[:MOST_MEMBERS]
    made = scenario(
        name=f"{subject.group} moves to the consumer protocol",
        brokers=["broker"],
        topics={_TOPIC: {"queues": PARTITIONS}},
        group={"name": subject.group, "members": {name: _reading_one(members[name]) for name in names}},
        versions=dict(subject.versions),
        run={"for": 60_000.0},
        systems=[{"system": f"{subject.system}:{subject.strategy}", "settings": dict(subject.settings)}],
        events=[
            {"at": 1000.0 * at, "restart": name, **as_event(step.settings[name])} for at, name in enumerate(names, 1)
        ],
    )
    return Variant(made, made.systems[0], 0)


def _reading_one(fields: Fields) -> Fields:
    return {
        **{name: value for name, value in fields.items() if name not in ("pattern", "process")},
        "subscribe": [_TOPIC],
    }


def _check(subject: Subject, found: Answers, name: str) -> str:
    """Where a user sees this violation in the group itself."""
    why = found.stories[name][1]
    if name == EVERY_QUEUE:
        return (
            f"`{describe(subject, '')}` shows a partition without CONSUMER-ID, or with that of a member that has ended"
        )
    if "is not in the group" in why:
        return f"`{describe(subject, '--members')}` shows fewer members than run"
    return f"`{describe(subject, '--members')}` shows other #PARTITIONS than the strategy gives"
