"""Short traces written by hand: one for each defect of Kafka's coordinator on docs/defects.md that no story of the
explorer shows, and one of a classic member whose target is empty; and what the released coordinators answer at their
ends (`tests.slow.test_coordinator_stories`)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from compare.conformance.kafka_coordinator import Session
from tests.exploration.coordinator_traces import topic_ids

Step = tuple[str, Mapping[str, Any]]


class Written(NamedTuple):
    """A trace by its requests. ``ids``: of those that the coordinator makes up (m1, m2, ...) how each begins;
    ``shows``: as in `Story`."""

    name: str
    versions: tuple[str, ...]
    ids: tuple[str, ...]
    steps: Sequence[Step]
    shows: tuple[str, ...]
    config: Mapping[str, int | str] = {}
    topics: Mapping[str, int] = {"A": 4}


def joins(member: str, client: str, instance: str | None = None, session_ms: int = 60_000, version: int = 9) -> Step:
    """A JoinGroup with `range`."""
    return "join_group", {
        "member_id": member,
        "instance_id": instance,
        "client_id": client,
        "api_version": version,
        "session_timeout_ms": session_ms,
        "rebalance_timeout_ms": 30_000,
        "protocol_type": "consumer",
        "protocols": ["range"],
        "topics": ["A"],
    }


def syncs(member: str, generation: int, assignments: Mapping[str, str], instance: str | None = None) -> Step:
    """A SyncGroup."""
    named = {"member_id": member, "generation": generation, "instance_id": instance, "assignments": assignments}
    return "sync_group", {**named, "protocol_type": "consumer", "protocol": "range"}


def beats(member: str, epoch: int, **given: Any) -> Step:
    """A heartbeat of the consumer protocol; full, if it joins."""
    unchanged = {"rebalance_timeout_ms": -1, "subscribed": None, "regex": None, "assignor": None, "owned": None}
    full = {"rebalance_timeout_ms": 30_000, "subscribed": ["A"], "owned": []} if epoch == 0 else {}
    own = {"member_id": member, "member_epoch": epoch, "instance_id": None, "api_version": 1}
    return "consumer_group_heartbeat", {**own, **unchanged, **full, **given}


def alive(member: str, generation: int) -> Step:
    """A Heartbeat of a classic member."""
    return "heartbeat", {"member_id": member, "generation": generation, "instance_id": None}


def waits(ms: int) -> Step:
    """Time passes."""
    return "advance", {"ms": ms}


DESCRIBES: Final[Step] = "consumer_group_describe", {}
ASKED: Final = ("4.1.0", "4.2.2", "4.3.1", "4.4.0")
"""A release of each minor version."""
_AT_ONCE: Final = {"group.initial.rebalance.delay.ms": 0}

WRITTEN: Final = (
    Written(
        "emptied-while-preparing",
        ASKED,
        ("c1", "c2", "c2"),
        [
            *(joins("", "c1"), joins("m1", "c1"), joins("", "c2", None, 10_000), joins("m2", "c2", None, 10_000)),
            *(waits(6000), syncs("m1", 1, {"m1": "P:A-0,A-1", "m2": "P:A-2,A-3"}), syncs("m2", 1, {}), waits(10_000)),
            *(joins("", "c2"), ("leave_group", {"members": [{"member_id": "m1", "instance_id": None}]})),
            *(beats("k", 0), DESCRIBES),
        ],
        ("Stable", "k 0 1 2 3"),
    ),
    Written(
        "leader-gives-a-partition-that-does-not-exist",
        ASKED,
        ("c1",),
        [
            *(joins("", "c1"), joins("m1", "c1"), syncs("m1", 1, {"m1": "P:A-0,A-7"})),
            *(beats("k", 0), beats("k", 0, subscribed=["B"]), DESCRIBES),
            *(beats("k", 0, assignor="range"), DESCRIBES),
        ],
        ("UNKNOWN_SERVER_ERROR", "Reconciling", "k 2 3"),
        _AT_ONCE,
        {"A": 4, "B": 2},
    ),
    Written(
        "first-member-never-synced",
        ASKED,
        ("X",),
        [joins("", "c1", "X"), beats("a", 0, instance_id="X"), waits(1000), beats("a", 1, instance_id="X"), DESCRIBES],
        ("Stable", "X"),
        _AT_ONCE,
    ),
    Written(
        "upgrade-before-the-first-generation",
        ASKED,
        ("X",),
        [joins("", "c1", "X"), beats("a", 0), waits(3000), DESCRIBES],
        ("UNKNOWN_SERVER_ERROR", "REBALANCE_IN_PROGRESS"),
    ),
    Written(
        "equal-votes",
        ("4.4.0",),
        (),
        [beats("a", 0, assignor="uniform"), beats("b", 0, assignor="range"), beats("b", 3), beats("b", 4), DESCRIBES],
        ("epoch 5",),
        {"group.consumer.assignment.interval.ms": 0},
    ),
    Written(
        "large-batch",
        ASKED,
        (),
        [beats("a", 0), beats("b", 0, subscribed=[*"ABCDEF"]), waits(1000), beats("a", 2), beats("b", 2)],
        ("UNKNOWN_SERVER_ERROR",),
        {"message.max.bytes": 330},
        dict.fromkeys("ABCDEF", 4),
    ),
    Written(
        "forgotten-group",
        ASKED,
        (),
        [beats("a", 0), beats("a", -1), DESCRIBES, joins("ghost", "c1"), beats("a", 0)],
        ("UNKNOWN_MEMBER_ID", "Empty"),
    ),
    Written(
        "timer-survives",
        ASKED,
        ("X",),
        [beats("a", 0), joins("", "c1", "X"), beats("m1", 0, instance_id="X"), waits(30_000), beats("m1", 3)],
        ("UNKNOWN_MEMBER_ID",),
    ),
    Written(
        "join-timer-survives",
        ASKED,
        ("X", "c2", "X"),
        [
            *(joins("", "c1", "X"), joins("", "c2", version=3), beats("a", 0, instance_id="X"), joins("", "c1", "X")),
            *(waits(30_000), alive("m2", 1)),
        ],
        ("UNKNOWN_MEMBER_ID",),
        _AT_ONCE,
    ),
    Written(
        "late-in-a-mixed-group",
        ASKED,
        ("X",),
        [beats("a", 0), joins("", "c1", "X", 120_000), syncs("m1", 2, {}, "X"), waits(45_000), beats("a", 1)],
        ("GROUP_ID_NOT_FOUND",),
    ),
    Written(
        "wrong-target",
        ASKED,
        (),
        [*(beats("a", 0), beats("b", 0), beats("b", -1), beats("c", 0, subscribed=None, regex="other.*"), DESCRIBES)],
        ("c to 2 3",),
        {"group.consumer.assignment.interval.ms": 0},
    ),
    Written(
        "nothing-for-the-newcomer",
        ASKED,
        ("c1",),
        [beats("a", 0), joins("", "c1"), joins("m1", "c1"), beats("a", -1), joins("m1", "c1"), DESCRIBES],
        ("GROUP_ID_NOT_FOUND",),
        {"group.consumer.assignment.interval.ms": 0},
        {"A": 1},
    ),
)


def trace_of(written: Written, version: str) -> dict[str, Any]:
    """The trace with the model's answers, of which the player of the released one takes the new ids."""
    ids = {f"m{number}": f"{prefix}-made-up-{number}" for number, prefix in enumerate(written.ids, 1)}
    config = {name: value for name, value in written.config.items() if version != "4.1.0" or "interval.ms" not in name}
    named = topic_ids(written.topics)
    steps = [
        {"n": number, "t": 0, "op": op, "req": req if op == "advance" else {"group_id": "g", **req}}
        for number, (op, req) in enumerate(written.steps)
    ]
    session = Session(ids, config, written.topics, named, steps, version)
    head = {"trace_id": f"{written.name} {version}", "kafka": version, "protocol": "consumer", "scenario": written.name}
    played = [session.step(number, step) for number, step in enumerate(steps)]
    about = {"config": config, "topics": dict(written.topics), "topic_ids": named, "ids": ids, "answers_only": True}
    return {**head, **about, "steps": played}


def lines_of(trace: Mapping[str, Any]) -> list[str]:
    """The trace for people: a line for each request, with what it is answered."""
    made = {member: symbol for symbol, member in trace["ids"].items()}
    return [_line(step, made) for step in trace["steps"]]


def _line(step: Mapping[str, Any], made: Mapping[str, str]) -> str:
    req, name = step["req"], step["op"].title().replace("_", "")
    if name == "Advance":
        return f"{req['ms'] / 1000:g} s later"
    about = [req.get("instance_id") or made.get(req.get("member_id", ""), req.get("member_id", ""))]
    about += [f"epoch {req['member_epoch']}"] if "member_epoch" in req else []
    about += [
        f"{what} {req[field]}" for field, what in (("assignor", "assignor"), ("regex", "pattern")) if req.get(field)
    ]
    said = f"{name} {', '.join(filter(None, about))}".strip()
    return f"{said}: {_answer(step['resp'], made)}" if "resp" in step else f"{said}: no answer yet"


def _answer(resp: Mapping[str, Any], made: Mapping[str, str]) -> str:
    if "results" in resp:
        return " ".join(str(result[-1]) for result in resp["results"])
    if resp["error"] != "NONE":
        return str(resp["error"])
    if "state" in resp:
        members = [
            f"{made.get(each['member_id'], each['member_id'])} has {_listed(each['assignment'])}"
            f" and is to have {_listed(each['target_assignment'])}"
            for each in resp["members"]
        ]
        return "; ".join([f"{resp['state']}, epoch {resp['group_epoch']}", *members])
    if "member_epoch" in resp:
        told = "" if resp["assignment"] is None else f", {_listed(resp['assignment'])}"
        return f"epoch {resp['member_epoch']}{told}"
    return f"generation {resp['generation']}" if "generation" in resp else "NONE"


def _listed(partitions: Sequence[Sequence[object]]) -> str:
    return " ".join(f"{topic}-{number}" for topic, number in partitions) or "nothing"
