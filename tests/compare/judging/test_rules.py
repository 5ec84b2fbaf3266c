"""The rules that say what a member did, what the Java client's model does by them, and what counts as a failure."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from compare.judging import playing
from compare.judging.judging import Judgement, judgement, of_two
from compare.judging.kafka import play_model
from compare.judging.kafka_reactions import all_read, outcome, reaction
from compare.judging.kafka_situations import CLASSIC, CONSUMER, SITUATIONS
from compare.judging.kafka_stage import BROKERS, Exchanges, Mark, Stage
from compare.judging.playing import BY_LINES, BY_REQUESTS, FIRST, TOPIC, Outcome, Played, Situation
from compare.judging.programs import Program
from compare.judging.worlds import caught_up, strain
from kafka_coordinator.messages import (
    FindCoordinator,
    Heartbeat,
    HeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    OffsetCommit,
    OffsetCommitAnswer,
    SyncGroup,
    SyncGroupAnswer,
)
from kafka_coordinator.wire.records.batches import NewRecord, batch, has_right_crc, header_of
from kafka_coordinator.wire.records.contents import records
from kafka_coordinator.wire.requests import Fetch
from protocols.engine.nodes import Message
from tests.rows import rows

BY_NAME = {each.name: each for each in SITUATIONS}
FOUND = ("looks for the coordinator",)
NO_RECORDS = Outcome(BY_LINES, 10, 10, 0, 0, 0)


class _World:
    """Time stands still; the first member lives, or does not."""

    now = 0.0

    def __init__(self, alive: bool) -> None:
        self._alive = alive
        self.members = self

    def alive(self, member: str) -> bool:
        return self._alive


def join(member_id: str) -> JoinGroup:
    return JoinGroup(1, "g", member_id, None, "c", 1, 1, "consumer", ())


def joined(member_id: str) -> JoinGroupAnswer:
    return JoinGroupAnswer(1, "NONE", 2, member_id, "", None, None, False, ())


SYNC = SyncGroup(2, "g", "m", 1, None, None, None, {})
SYNCED = SyncGroupAnswer(2, "NONE", None, None, b"")
BEAT, BEATEN = Heartbeat(3, "g", "m", 1, None), HeartbeatAnswer(3, "NONE")
COMMIT = OffsetCommit(4, "g", "m", 1, None, (((TOPIC, 0), 5, ""),))
COMMITTED = OffsetCommitAnswer(4, (((TOPIC, 0), "NONE"),))
FIND = FindCoordinator(5, "g")
LEAVE = LeaveGroup(6, "g", ())


def did(
    *said: tuple[Message, Message | None], of: str = "coordinator moves", alive: bool = True, refused: Any = None
) -> Sequence[str]:
    exchanges = Exchanges(BROKERS, lambda peer, message: FIRST)
    for request, answer in said:
        exchanges.sent(1.0, 1.0, "peer", BROKERS[0], request, 0, 0)
        if answer is not None:
            exchanges.sent(2.0, 2.0, BROKERS[0], "peer", answer, 0, 0)
    stage = Stage(cast(Any, _World(alive)), exchanges, cast(Any, None), Mark(0.0, 0, "m", refused))
    return reaction(stage, BY_NAME[of])


@pytest.mark.parametrize(
    ("said", "phrases"),
    [
        ([(BEAT, BEATEN)], ("goes on",)),
        ([(BEAT, None)], ("does nothing more",)),
        ([(FIND, None), (BEAT, BEATEN)], ("looks for the coordinator",)),
        ([(join("m"), joined("m")), (SYNC, SYNCED)], ("rejoins with its member id",)),
        ([(join(""), None)], ("joins as a new member", "is still out")),
        ([(join(""), joined("n")), (join("n"), joined("n")), (SYNC, SYNCED)], ("joins as a new member",)),
    ],
)
def test_a_request_is_told_in_words(said: Any, phrases: Sequence[str]) -> None:
    assert did(*said) == phrases


def test_a_commit_counts_where_it_is_an_answer_to_the_situation() -> None:
    rejoin = (COMMIT, COMMITTED), (join("m"), joined("m")), (SYNC, SYNCED)
    assert did(*rejoin) == ("rejoins with its member id",)
    assert did(*rejoin, of="another member leaves") == ("commits first", "rejoins with its member id")
    assert did((COMMIT, COMMITTED), refused=COMMIT) == ("commits again",)
    assert did((COMMIT, COMMITTED), *rejoin[1:], refused=COMMIT) == ("rejoins with its member id",)


def test_an_end_is_told_with_what_came_before_it() -> None:
    assert did((LEAVE, None), alive=False) == ("leaves the group", "ends")
    assert did(alive=False) == ("ends",)


@pytest.mark.parametrize("protocol", [CLASSIC, CONSUMER])
def test_the_model_lives_through_every_situation(protocol: str) -> None:
    for each in SITUATIONS:
        if protocol in each.protocols and not each.java:
            found = play_model(each, protocol)
            assert not {"not reached", "is still out", "does nothing more"} & set(found), each.name
            assert found == play_model(each, protocol), each.name


@pytest.mark.parametrize(
    ("name", "classic", "consumer"),
    [
        ("told to end (SIGTERM)", ("ends",), ("says that it will be back", "ends")),
        ("told to end, started again", (*FOUND, "joins as a new member"), (*FOUND, "joins as a new member")),
        ("killed, started again", (*FOUND, "joins as a new member"), (*FOUND, "joins as a new member", "ends")),
        ("another process with its id", ("ends",), ("goes on",)),
        ("session expires at the broker", ("joins as a new member",), ("rejoins with its member id",)),
    ],
)
def test_a_static_member_comes_back_under_its_id(name: str, classic: Sequence[str], consumer: Sequence[str]) -> None:
    situation = BY_NAME[f"static: {name}"]
    assert play_model(situation, CLASSIC) == classic
    assert play_model(situation, CONSUMER) == consumer


def test_a_program_that_is_no_static_member_is_not_judged_as_one() -> None:
    situation = "static: killed, started again"
    assert did((join(""), joined("n")), (SYNC, SYNCED), (BEAT, BEATEN), of=situation) == ("not tried",)
    static = join("")._replace(instance_id="instance-c1")
    assert did((static, joined("n")), (SYNC, SYNCED), (BEAT, BEATEN), of=situation) == ("joins as a new member",)
    assert failure(BY_NAME[situation], did=("not tried",), behind=None) is None


@pytest.mark.parametrize(
    ("name", "phrases"),
    [
        ("ILLEGAL_GENERATION on Heartbeat", ("rejoins with its member id",)),
        ("UNKNOWN_MEMBER_ID on Heartbeat", ("joins as a new member",)),
        ("NOT_COORDINATOR on Heartbeat", ("looks for the coordinator",)),
        ("FENCED_INSTANCE_ID on Heartbeat", ("ends",)),
        ("REBALANCE_IN_PROGRESS on JoinGroup", ("rejoins with its member id",)),
        ("GROUP_MAX_SIZE_REACHED on JoinGroup", ("ends",)),
        ("ILLEGAL_GENERATION on SyncGroup", ("rejoins with its member id",)),
        ("COORDINATOR_LOAD_IN_PROGRESS on OffsetCommit", ("commits again",)),
    ],
)
def test_the_model_does_what_the_real_client_was_seen_to_do(name: str, phrases: Sequence[str]) -> None:
    assert play_model(BY_NAME[name], CLASSIC) == phrases


def test_every_situation_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(SITUATIONS)


def judged(situation: Situation, **changed: Any) -> Judgement:
    played = {
        "did": ("rejoins with its member id",),
        "records": NO_RECORDS,
        "protocol": CLASSIC,
        "behind": 0,
        "exit_code": None,
        "connected": True,
        "last_line": "",
        "busy": "",
    }
    return judgement(situation, Played(**cast(Any, played | changed)), play_model(situation, CLASSIC))


def failure(situation: Situation, **changed: Any) -> str | None:
    return judged(situation, **changed).failure


def test_records_lost_an_end_and_a_standstill_are_failures_where_the_java_client_goes_on() -> None:
    goes_on, ends = BY_NAME["ILLEGAL_GENERATION on Heartbeat"], BY_NAME["FENCED_INSTANCE_ID on Heartbeat"]
    assert failure(goes_on) is None
    assert failure(goes_on, records=Outcome(BY_LINES, 10, 8, 2, 0, 0)) == "2 records lost"
    assert failure(ends, records=Outcome(BY_LINES, 10, 8, 2, 0, 0)) == "2 records lost"
    assert failure(goes_on, exit_code=3, behind=None) == "ended with exit code 3"
    assert failure(goes_on, behind=None) == "stopped reading"
    stopped = "its process is stopped (state T, as after SIGSTOP) with 0 records to read"
    assert failure(goes_on, behind=None, is_stopped=True) == stopped
    assert failure(ends, exit_code=3, behind=None) is None
    assert failure(goes_on, records=Outcome(BY_LINES, 10, 10, 0, 4, 0)) is None, "handled twice is shown, no more"


def test_where_commit_sync_throws_the_end_is_the_programs_choice() -> None:
    assert failure(BY_NAME["GROUP_AUTHORIZATION_FAILED on OffsetCommit"], exit_code=1, behind=None) is None
    assert failure(BY_NAME["NOT_COORDINATOR on OffsetCommit"], exit_code=1, behind=None) is not None
    assert failure(BY_NAME["told to end (SIGTERM)"], did=("goes on",)) == "does not end"


GOES_ON, BUSY = BY_NAME["ILLEGAL_GENERATION on Heartbeat"], "load 9.0 on 2 processors, brokers up to 1.5 s late"
LOST = Outcome(BY_LINES, 10, 8, 2, 0, 0)


STOPPED, OTHER = {"behind": None}, {"did": ("goes on",)}
MACHINE = f" (busy machine: {BUSY})"


@rows(
    "first, second, told, fails",
    [
        (STOPPED, {}, "as Java; failed once of two: stopped reading", False),
        (STOPPED | {"busy": BUSY}, {}, f"as Java; failed once of two: stopped reading{MACHINE}", False),
        (STOPPED, STOPPED, "FAILED twice: stopped reading", True),
        (STOPPED, STOPPED | {"busy": BUSY}, f"FAILED twice: stopped reading{MACHINE}", True),
        (OTHER | {"busy": BUSY}, {"records": LOST, "busy": BUSY}, "FAILED once of two: 2 records lost", True),
        (STOPPED, {"records": LOST}, "FAILED: 2 records lost", True),
        (OTHER | {"busy": BUSY}, {}, "as Java", False),
        (OTHER | {"busy": BUSY}, OTHER, "differs", False),
        (OTHER | {"busy": BUSY}, OTHER | {"busy": BUSY}, f"may differ{MACHINE}", False),
        (STOPPED, {"behind": 7}, "as Java; slow, 7 records behind; failed once of two: stopped reading", False),
    ],
)
def test_what_two_tries_say_together(first: Any, second: Any, told: str, fails: bool) -> None:
    one, other = judged(GOES_ON, **first), judged(GOES_ON, **second)
    assert one.is_doubtful
    both = of_two(one, other)
    assert (both.verdict(), both.failure is not None, both.tries) == (told, fails, 2)


def test_only_failures_and_differences_on_a_busy_machine_are_tried_again() -> None:
    assert not judged(GOES_ON, did=("goes on",)).is_doubtful
    assert judged(GOES_ON, did=("goes on",)).verdict() == "differs"
    assert not judged(GOES_ON, busy=BUSY).is_doubtful
    assert not judged(GOES_ON, behind=3, busy=BUSY).is_doubtful
    assert not judged(GOES_ON, records=LOST, busy=BUSY).is_doubtful
    assert strain(2.0, 2, 0.1) == ""
    assert strain(2.1, 2, 0.1) == "load 2.1 on 2 processors, brokers up to 0.1 s late"
    assert strain(0.3, 2, 1.0) == "load 0.3 on 2 processors, brokers up to 1.0 s late"


class _Slow:
    """A program, and a clock that goes on by 100 ms at each look: it handles its records at these times."""

    handled_within_ms = 6_000.0

    def __init__(self, handled_at: Sequence[float], ends_at: float = 1e9) -> None:
        self.time, self._handled_at, self._ends_at = 0.0, handled_at, ends_at
        self.members = self

    def now(self) -> float:
        self.time += 100.0
        return self.time

    def alive(self, member: str) -> bool:
        return self.time < self._ends_at

    def is_stopped(self, member: str) -> bool:
        return False

    def outcome(self) -> Outcome:
        return replace(NO_RECORDS, waiting=sum(at > min(self.time, self._ends_at) for at in self._handled_at))

    def handled_all(self) -> bool:
        return not self.outcome().waiting


@rows(
    "handled_at, ends_at, behind",
    [
        ([], 1e9, 0),
        ([5_000.0 * number for number in range(1, 10)], 1e9, 0),
        ([5_000.0 * number for number in range(1, 100)], 1e9, 87),
        ([5_000.0, 20_000.0], 1e9, 0),
        ([5_000.0, 40_000.0], 1e9, None),
        ([5_000.0, 10_000.0], 7_000.0, None),
    ],
)
def test_a_slow_program_is_waited_for_and_one_that_stands_still_is_not(
    handled_at: Sequence[float], ends_at: float, behind: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "STEP_MS", 0.0)
    slow = _Slow(handled_at, ends_at)
    assert asyncio.run(caught_up(cast(Any, slow), slow.now)) == behind


def test_a_process_that_is_stopped_is_known_as_that() -> None:
    async def told() -> list[bool]:
        words = [sys.executable, "-c", "import time; time.sleep(120)"]
        program = await Program[int].start(words, lambda line: None, [], {})
        found = [program.is_stopped()]
        program.tell(signal.SIGSTOP)
        async with asyncio.timeout(60):
            while not program.is_stopped():
                await asyncio.sleep(0.02)
        found += [program.is_stopped()]
        await program.end()
        return [*found, program.is_stopped()]

    assert asyncio.run(told()) == [False, True, False]


def committed(offset: int) -> Exchanges:
    exchanges = Exchanges(BROKERS, lambda peer, message: FIRST)
    exchanges.sent(1.0, 1.0, "peer", BROKERS[0], COMMIT._replace(offsets=(((TOPIC, 0), offset, ""),)), 0, 0)
    exchanges.sent(2.0, 2.0, BROKERS[0], "peer", COMMITTED, 0, 0)
    return exchanges


def test_a_record_is_lost_that_is_committed_and_was_never_handled() -> None:
    lines = [(0, 0), (0, 1), (0, 1), (0, 3)]
    assert outcome({0: 6}, committed(4), lines) == Outcome(BY_LINES, 6, 3, lost=1, twice=1, waiting=2)


def test_what_stood_before_the_first_fetch_is_not_lost() -> None:
    exchanges = committed(4)
    topics = (SimpleNamespace(partitions=(SimpleNamespace(partition=0, fetch_offset=3),)),)
    exchanges.sent(3.0, 3.0, "peer", BROKERS[0], Fetch(9, 18, "c", SimpleNamespace(topics=topics)), 0, 0)
    assert outcome({0: 6}, exchanges, [(0, 3), (0, 4)]) == Outcome(BY_LINES, 3, 2, lost=0, twice=0, waiting=1)
    assert not all_read({0: 6}, exchanges, [(0, 3), (0, 4)])
    assert all_read({0: 6}, exchanges, [(0, 3), (0, 4), (0, 5)])
    assert all_read({0: 4}, exchanges, [])


def test_without_printed_lines_fetches_and_commits_tell() -> None:
    assert outcome({0: 6}, committed(4), []) == Outcome(BY_REQUESTS, 6, 0, lost=4, twice=0, waiting=2)


def test_a_record_is_written_as_clients_read_it() -> None:
    for value in (b"", b"records 1 17", b"x" * 300):
        made = batch([NewRecord(value, timestamp=1_700_000_000_000)])
        header = header_of(made)
        assert has_right_crc(made, header)
        assert header.records == 1
        assert len(made) == header.length + 12
        (record,) = records(made, header)
        assert not record.has_key
        assert made.endswith(value + b"\0")
