"""What clients say to a served broker is written down as it happens, and gives one trace for each group."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from struct import pack
from typing import Any

import pytest

from compare.conformance.players import play_files
from compare.conformance.served import traces, written
from compare.serving.cluster import Served, start
from compare.serving.recorded import Journal, make_traces
from kafka_coordinator.messages import TxnOffsetCommit
from tests.calls import calls_of
from tests.kafka_coordinator.wire.load import SUBSCRIPTION, Member, text

SOON = {"group.initial.rebalance.delay.ms": 300}


async def recorded(path: Path, what: Callable[[Served], Any], topics: int = 1) -> None:
    journal = Journal(path, SOON)
    there = {f"orders{number or ''}": {"broker-1": 4} for number in range(topics)}
    served = await start("kafka", port=0, settings=SOON, topics=there, journal=journal)
    try:
        await what(served)
        assert served.world.failures == []
    finally:
        await served.world.close()
        journal.close()


async def two_groups(served: Served) -> None:
    """Members of both groups have the same client id; one group has two members, and a topic comes and goes."""
    address = served.service.cluster.addresses["broker-1"]  # type: ignore[attr-defined]
    members = [await Member.of(address, "app", group) for group in ("a", "b", "a")]
    await asyncio.gather(*[each.join() for each in members])
    served.service.create_topic("more", {"broker-1": 1})
    for _ in range(3):
        for each in members:
            assert await each.heartbeat() == 0
    served.service.delete_topic("more")
    assert await members[1].heartbeat() == 0
    for each in members:
        each.close()


async def unanswered(served: Served) -> None:
    """Members go while their first join waits, a static one and two of which one's client id begins with the other's;
    the leader is told of them."""
    address = served.service.cluster.addresses["broker-1"]  # type: ignore[attr-defined]
    stays = await Member.of(address, "stays", "a")
    joining = asyncio.ensure_future(stays.join())
    protocols = pack(">i", 1) + text("range") + pack(">i", len(SUBSCRIPTION)) + SUBSCRIPTION
    for client_id, instance in (("app-2", None), ("app", None), ("app", "inst 3")):
        goes = await Member.of(address, client_id, "a")
        body = text("a") + pack(">ii", 45_000, 60_000) + text("")
        body += b"" if instance is None else text(instance)
        goes.write(11, 1 if instance is None else 5, body + text("consumer") + protocols)
        await asyncio.sleep(0.05)
        goes.close()
    await joining
    assert await stays.heartbeat() == 0
    stays.close()


def passed(path: Path) -> int:
    (result,) = play_files([path], lambda _: lambda _: None, 1)
    assert not isinstance(result, Exception)
    assert (result.failed, result.skipped) == (0, 0)
    return result.passed


def test_each_group_has_a_trace_of_its_own_in_which_clients_are_served_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "out.json.jsonl"
    asyncio.run(recorded(path, two_groups))
    with path.open("rb") as lines:
        assert sorted((each.group, each.differing) for each in traces(written(lines))) == [("a", 0), ("b", 0)]
    (told,) = make_traces(path)
    assert told.endswith("by a model: it says nothing of a real Kafka")
    # Which group's client is served first is the machine's choice.
    a, b = sorted(map(json.loads, path.read_text().splitlines()), key=lambda each: -len(each["ids"]))
    assert (len(a["ids"]), len(b["ids"])) == (2, 1)
    assert set(a["ids"].values()).isdisjoint(b["ids"].values())
    assert a["topics"] == b["topics"] == {"orders": 4}
    assert "UNKNOWN_MEMBER_ID" not in path.read_text()
    assert passed(path) == 2


def test_a_trace_fails_where_clients_were_served_otherwise_than_the_model_answers(tmp_path: Path) -> None:
    path = tmp_path / "out.json.jsonl"
    asyncio.run(recorded(path, two_groups))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    answered = [line for line in lines if "resp" in line]
    first = next(line for line in answered if line["resp"].get("generation"))
    first["resp"]["generation"] += 1
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    differing, _ = make_traces(path)
    assert differing.startswith("1 answer to group ")
    (result,) = play_files([path], lambda _: lambda _: None, 1)
    assert not isinstance(result, Exception)
    assert (result.passed, result.failed, result.skipped) == (1, 1, 0)


def test_members_that_were_never_answered_have_the_ids_that_the_leader_was_told(tmp_path: Path) -> None:
    path = tmp_path / "out.json.jsonl"
    asyncio.run(recorded(path, unanswered))
    assert len(make_traces(path)) == 1
    ids = json.loads(path.read_text())["ids"].values()
    assert {id[:-37] for id in ids} == {"stays", "app-2", "app", "inst 3"}


def test_what_was_written_when_the_process_was_killed_can_be_played(tmp_path: Path) -> None:
    path, cut = tmp_path / "out.json.jsonl", tmp_path / "cut.jsonl"
    asyncio.run(recorded(path, two_groups))
    whole = path.read_bytes()
    assert passed(path) == 2, "before traces were made of it"
    second = max(whole.index(b'"group": "a"'), whole.index(b'"group": "b"'))
    for end in range(second - 40, len(whole), 397):
        cut.write_bytes(whole[:end])
        assert passed(cut) == (1 if end <= whole.index(b"\n", second) - 1 else 2)


def test_a_full_disk_is_told_and_what_was_written_before_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, before = tmp_path / "out.json.jsonl", getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (6_000, before[1]))
    try:
        asyncio.run(recorded(path, two_groups))
    finally:
        setrlimit(RLIMIT_FSIZE, before)
    told = [each.getMessage() for each in caplog.records if "--record" in each.getMessage()]
    assert told == [f"--record {path}: File too large; what comes from now on is not recorded"]
    assert path.stat().st_size == 6_000
    assert passed(path) == 2


def test_a_server_that_stops_leaves_no_trace_and_what_was_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "out.json.jsonl"

    async def what(served: Served) -> None:
        served.history.listener.untraceable(1.0, "broker-1 is killed")  # type: ignore[union-attr]

    asyncio.run(recorded(path, what))
    assert make_traces(path) == [f"{path} holds no traces for conformance: broker-1 is killed"]
    assert path.read_text().count("\n") == 2


def test_offsets_of_transactions_leave_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "out.json.jsonl"

    async def what(served: Served) -> None:
        commit = TxnOffsetCommit(1, "g", "", -1, None, ((("orders", 0), 7, ""),), "t", 1, 0)
        for _ in range(2):
            served.history.listener.heard(1.0, "client", commit, False)  # type: ignore[union-attr]

    asyncio.run(recorded(path, what))
    (told,) = make_traces(path)
    assert "offsets were committed within transactions" in told
    assert path.read_text().count("\n") == 2


def test_the_work_is_linear_in_events_and_independent_of_topics(tmp_path: Path) -> None:
    path = tmp_path / "out.json.jsonl"
    asyncio.run(recorded(path, two_groups, topics=3))
    *before, beat, answered = [json.loads(line) for line in path.read_bytes().splitlines()]

    def with_beats(count: int) -> list[bytes]:
        more = []
        for number in range(count):
            more += [{**beat, "at": beat["at"] + number * 10, "n": 1000 + number}, {**answered, "n": 1000 + number}]
        return [json.dumps(line).encode() for line in (*before, *more)]

    few, many = (calls_of(lambda count=count: list(traces(written(with_beats(count))))) for count in (200, 400))  # type: ignore[misc]
    none = calls_of(lambda: list(traces(written(with_beats(0)))))
    assert many - none < 2.1 * (few - none)


@pytest.mark.parametrize("system", ["kafka", "rocketmq"])
def test_a_fact_costs_the_same_however_many_topics_there_are(system: str) -> None:
    async def looks(topics: int) -> int:
        there = {f"t{number}": {"b": 1} for number in range(topics)}
        served = await start(system, port=0, topics=there, brokers=["b"])
        try:
            served.history.look(1.0)
            found = calls_of(lambda: served.history.look(2.0))
            served.service.create_topic("more", {"b": 2})
            served.history.look(3.0)
            assert [each.describe() for each in served.history.events.values()] == ["more is created"]
            return found
        finally:
            await served.world.close()

    assert asyncio.run(looks(3)) == asyncio.run(looks(300))
