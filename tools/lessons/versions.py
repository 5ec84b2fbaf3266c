"""The blocks of docs/versions.md: each change as a small scenario, and what happens in it in every version."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import NamedTuple, TypeAlias

from compare.running.run_variant import RunResult, run_variant
from compare.running.systems import read_text, versions_of, with_versions
from compare.running.variants import variants_of
from kafka_coordinator.coordinator.consumer_groups.states import ASSIGNMENT_EPOCH, GROUP_EPOCH
from protocols.facts import Delivered, Epoch, Noted
from protocols.scenario.model import split_system
from protocols.timeline.trace import ObservedFact
from tools.lessons.shown import table

Told: TypeAlias = Callable[[RunResult], Sequence[object]]


class Change(NamedTuple):
    """``scenario``: of one variant; ``head`` and ``told``: what a table says of a run."""

    scenario: str
    head: tuple[str, ...]
    told: Told


def _owns(result: RunResult, member: str, since_s: float, topic: str = "orders") -> str:
    """How long after this moment the member has a queue of the topic."""
    waits = [
        max(belief.since / 1000 - since_s, 0.0)
        for belief in result.timeline.beliefs
        if (belief.member, belief.queue.topic) == (member, topic) and (belief.until or inf) > since_s * 1000
    ]
    return f"{min(waits):.1f} s" if waits else "never"


def _next(result: RunResult, since_s: float) -> ObservedFact:
    """The first delivery after this moment."""
    return next(
        each for each in result.timeline.facts if isinstance(each.fact, Delivered) and each.now > since_s * 1000
    )


def _first_offset(result: RunResult, since_s: float) -> int:
    delivered = _next(result, since_s).fact
    assert isinstance(delivered, Delivered)
    return delivered.first


def _epochs(result: RunResult, name: str) -> str:
    epochs = [each.fact for each in result.timeline.facts if isinstance(each.fact, Epoch)]
    return ", ".join(str(epoch.value) for epoch in epochs if epoch.name == name)


def _noted(result: RunResult) -> str:
    return "; ".join(each.fact.text for each in result.timeline.facts if isinstance(each.fact, Noted)) or "nothing"


CHANGES: Mapping[str, Change] = {
    "interval": Change(
        """\
name: two join within a second
topics: {orders: {queues: 6}}
group: {name: billing, members: {c1: {subscribe: [orders]}}}
run: {for: 60s, seed: 1}
systems: ["kafka:uniform"]
events:
  - {at: 20s, join: c2, subscribe: [orders]}
  - {at: 20.3s, join: c3, subscribe: [orders]}
""",
        ("group epochs", "targets computed", "c2 owns after", "c3 owns after"),
        lambda result: (
            _epochs(result, GROUP_EPOCH),
            _epochs(result, ASSIGNMENT_EPOCH),
            _owns(result, "c2", 20.0),
            _owns(result, "c3", 20.3),
        ),
    ),
    "commits": Change(
        """\
name: a commit with an older epoch
topics: {orders: {queues: 3}}
group: {name: billing, members: {c1: {subscribe: [orders]}}}
load: {produce: 10/s}
run: {for: 60s, seed: 1}
systems: ["kafka:uniform"]
events:
  - {at: 20s, join: c2, subscribe: [orders]}
  - {at: 30s, join: c3, subscribe: [orders]}
  - {at: 45s, commit: c1, offsets: {orders-0: 5}, generation: 2}
""",
        ("epochs of the group", "the commit with epoch 2"),
        lambda result: (
            _epochs(result, GROUP_EPOCH),
            *(each.error or "taken: orders-0 goes back to 5" for each in result.timeline.commits if each.offset == 5),
        ),
    ),
    "max-size": Change(
        """\
name: a static member returns to a full group
topics: {orders: {queues: 4}}
group:
  name: billing
  members:
    c1: {subscribe: [orders], settings: {group.instance.id: one}}
    c2: {subscribe: [orders], settings: {group.instance.id: two}}
run: {for: 60s, seed: 1}
systems: [{system: "kafka:uniform", settings: {group.consumer.max.size: 2}}]
events:
  - {at: 20s, leave: c1}
  - {at: 25s, join: c1}
""",
        ("c1 owns again after", "what c1 is told"),
        lambda result: (_owns(result, "c1", 25.0), _noted(result)),
    ),
    "policy": Change(
        """\
name: a classic member joins a group that may not be downgraded
topics: {orders: {queues: 4}}
group: {name: billing, members: {c1: {subscribe: [orders]}}}
run: {for: 60s, seed: 1}
systems: [{system: "kafka:uniform", settings: {group.consumer.migration.policy: disabled}}]
events:
  - {at: 20s, join: c2, subscribe: [orders], settings: {group.protocol: classic}}
""",
        ("c2 owns after", "what c2 is told"),
        lambda result: (_owns(result, "c2", 20.0), _noted(result)),
    ),
    "emptied": Change(
        """\
name: the last member leaves and the next one comes
topics: {orders: {queues: 4}}
group: {name: billing, members: {c1: {subscribe: [orders]}}}
run: {for: 60s, seed: 1}
systems: ["kafka:uniform"]
events:
  - {at: 20s, join: c2, subscribe: [orders]}
  - {at: 20.2s, leave: c1}
  - {at: 20.4s, leave: c2}
  - {at: 20.6s, join: c3, subscribe: [orders]}
""",
        ("c3 owns after",),
        lambda result: (_owns(result, "c3", 20.6),),
    ),
    "no-route": Change(
        """\
name: a topic that is created later
brokers: [broker-a]
topics: {orders: {queues: 4}}
group: {name: billing, members: {c1: {subscribe: [orders, returns]}, c2: {subscribe: [orders, returns]}}}
run: {for: 3min, seed: 1}
systems: [rocketmq:AVG]
events:
  - {at: 95s, add_topic: {returns: {queues: 4}}}
""",
        ("questions for a route", "c1 owns queues of the new topic after"),
        lambda result: (result.timeline.messages["GetRouteInfo"], _owns(result, "c1", 95.0, "returns")),
    ),
    "reset": Change(
        """\
name: offsets of an orderly group are set back through its clients
topics: {orders: {queues: 2}}
group: {name: billing, members: {c1: {subscribe: [orders]}}}
load: {produce: 10/s}
run: {for: 2min, seed: 1}
systems: [{system: rocketmq:AVG, settings: {orderly: true}}]
events:
  - {at: 60s, reset_offsets: billing, topic: orders, to: 20s, via: client}
""",
        ("the next record is handled after",),
        lambda result: (f"{_next(result, 60.01).now / 1000 - 60:.1f} s",),
    ),
    "deleted": Change(
        """\
name: a topic is deleted while a reset of its offsets is pending
brokers: [broker-a]
topics: {orders: {queues: 1}, returns: {queues: 1}}
group: {name: billing, members: {c1: {subscribe: [orders]}}}
load: {produce: 10/s}
run: {for: 3min, seed: 1}
systems: [rocketmq:AVG]
events:
  - {at: 60s, leave: c1}
  - {at: 70s, reset_offsets: billing, topic: orders, to: 50s}
  - {at: 80s, delete_topic: orders}
  - {at: 90s, add_topic: {orders: {queues: 1}}}
  - {at: 100s, join: c1, subscribe: [orders]}
""",
        ("first offset that c1 handles of the new topic",),
        lambda result: (_first_offset(result, 100.0),),
    ),
}


def _of(change: Change) -> str:
    scenario = read_text(change.scenario)
    (part,) = scenario.systems
    system, _ = split_system(part.system)
    rows = []
    for version in versions_of(system):
        (variant,) = variants_of(with_versions(scenario, {system: version}))
        rows.append((version, *change.told(run_variant(variant))))
    return table(("version", *change.head), rows)


def _made(change: Change) -> Mapping[str, Callable[[], str]]:
    return {"scenario": lambda: f"yaml\n{change.scenario}", "versions": lambda: _of(change)}


MADE: Mapping[str, Callable[[], str]] = {
    f"{name}-{kind}": make for name, change in CHANGES.items() for kind, make in _made(change).items()
}
"""Name to what makes the block."""
