"""Lines whose times are missing or coarse, and members that never were in the group: nothing is placed by a guess."""

from pathlib import Path

from tests.compare.logs.scoring import Found, report

LOGGER = "aiokafka.consumer.group_coordinator"
WORKER_2 = """\
15:08:37.700 (Re-)joining group g
15:08:38.100 Joined group 'g' (generation 2) with member_id a2-a0c0b1c2-0000-4000-8000-000000000002
15:08:56.739 Heartbeat failed for group g because it is rebalancing
15:08:56.740 (Re-)joining group g
15:08:56.760 Joined group 'g' (generation 3) with member_id a2-a0c0b1c2-0000-4000-8000-000000000002
15:09:01.700 Heartbeat failed for group g because it is rebalancing
15:09:01.701 (Re-)joining group g
15:09:01.750 Joined group 'g' (generation 4) with member_id a2-a0c0b1c2-0000-4000-8000-000000000002
15:09:20.000 Heartbeat failed for group g because it is rebalancing
15:09:20.001 (Re-)joining group g
15:09:20.100 Joined group 'g' (generation 5) with member_id a2-a0c0b1c2-0000-4000-8000-000000000002
"""
WORKER_1 = """\
Joined group 'g' (generation 2) with member_id a1-a0c0b1c2-0000-4000-8000-000000000001
LeaveGroup request succeeded
Revoking previously assigned partitions frozenset({TopicPartition(topic='t', partition=0)}) for group g
(Re-)joining group g
Joined group 'g' (generation 4) with member_id a1-a0c0b1c2-0000-4000-8000-000000000009
"""
WORKER_3 = """\
15:08:38 Joined group 'g' (generation 2) with member_id a3-a0c0b1c2-0000-4000-8000-000000000003
15:08:56 (Re-)joining group g
15:08:56 Joined group 'g' (generation 3) with member_id a3-a0c0b1c2-0000-4000-8000-000000000003
15:09:01 (Re-)joining group g
15:09:01 Joined group 'g' (generation 4) with member_id a3-a0c0b1c2-0000-4000-8000-000000000003
"""


def told(folder: Path, **logs: str) -> dict[int | None, Found]:
    """The rebalances of the group by generation; lines get a date and aiokafka's logger."""
    for name, text in logs.items():
        lines = (
            f"2026-11-29 {line[:at]} INFO {LOGGER} {line[at + 1 :]}" if line[0] == "1" else f"INFO:{LOGGER}:{line}"
            for line in text.splitlines()
            for at in [line.find(" ")]
        )
        (folder / f"{name}.log").write_text("\n".join(lines), encoding="utf-8")
    (group,) = report(sorted(folder.glob("*.log")))["groups"]
    return {each["generation"]: each for each in group["rebalances"]}


def test_a_leave_without_a_time_led_to_the_next_generation(tmp_path: Path) -> None:
    found = told(tmp_path, a1=WORKER_1, a2=WORKER_2)
    causes = {
        number: [(each["cause"], *each["who"]) for each in one["stated"]]
        for number, one in found.items()
        if number in {2, 3, 4}
    }
    assert causes[3] == [("poll_interval_exceeded", "a1")]
    assert causes[4] == [("member_rejoined_after_poll_timeout", "a1")]
    doubts = (found[2]["unknown"] or {"each": []})["each"]
    assert not any("a1" in each["who"] for each in doubts)


def test_a_clock_of_whole_seconds_moves_no_begin(tmp_path: Path) -> None:
    """By one clock generation 3 was there at :56.000, before the other one heard of it at :56.739."""
    found = told(tmp_path, a2=WORKER_2, a3=WORKER_3)
    assert found[4]["at"] >= "2026-11-29T15:09:01"


def test_one_that_closes_before_it_was_in_leaves_nobody(tmp_path: Path) -> None:
    """librdkafka found no coordinator before its process ended."""
    lines = """\
MEMBERID [c1#consumer-1] [thrd:app]: Group "g": updating member id "(not-set)" -> "UqBJX7NnRhuIH0JEtFRMCA"
CGRPQUERY [c1#consumer-1] [thrd:main]: Group "g": no broker available for coordinator query: intervaled
CLOSE [c1#consumer-1] [thrd:app]: Closing consumer
"""
    texts = [f"2026-11-29 15:18:{at:02},100 DEBUG rd {line}" for at, line in enumerate(lines.splitlines(), 40)]
    (tmp_path / "c1.log").write_text("\n".join(texts), encoding="utf-8")
    (group,) = report([tmp_path / "c1.log"])["groups"]
    assert (group["group"], group["rebalances"], group["events"]) == ("g", [], [])


def test_a_stack_without_times_says_nothing_of_its_file(tmp_path: Path) -> None:
    """The times are there, in a layout that is not known."""
    (tmp_path / "app.log").write_text("20261129|080910 boom\njava.lang.IllegalStateException: x\n", encoding="utf-8")
    assert report([tmp_path / "app.log"])["skipped"] == []


def test_one_that_says_with_its_next_poll_that_it_was_too_slow_may_have_been_that(tmp_path: Path) -> None:
    """librdkafka prints with the next poll, long after its group went on without it."""
    joined = (
        "JOINGROUP [c{0}#consumer-1] [thrd:main]: JoinGroup response: GenerationId {1}, Protocol range, LeaderId x,"
    )
    joined += " my MemberId c{0}-a0c0b1c2-0000-4000-8000-00000000000{0}, member metadata count 0: (no error)"
    slow = (
        "MAXPOLL [c2#consumer-1] [thrd:main]: Application maximum poll interval (8000ms) exceeded by 470ms (adjust"
        " max.poll.interval.ms for long-running message processing): leaving group"
    )
    named = 'MEMBERID [c{0}#consumer-1] [thrd:app]: Group "g": updating member id "(not-set)" -> ""'
    listed = 'ASSIGN [c1#consumer-1] [thrd:main]: Member "c{0}-a0c0b1c2-0000-4000-8000-00000000000{0}" with 0 owned'
    for client, lines in {
        1: [
            ("10:00:00", named.format(1)),
            ("10:00:01", joined.format(1, 1)),
            *(("10:00:01", listed.format(number)) for number in (1, 2)),
            ("10:00:09", joined.format(1, 2)),
            ("10:00:09", listed.format(1)),
        ],
        2: [("10:00:00", named.format(2)), ("10:00:01", joined.format(2, 1)), ("10:00:15", slow)],
    }.items():
        text = "\n".join(f"2026-11-29 {at},100:DEBUG:rd:{line}" for at, line in lines)
        (tmp_path / f"c{client}.log").write_text(text, encoding="utf-8")
    (group,) = report(sorted(tmp_path.iterdir()))["groups"]
    (open_,) = (each["unknown"] for each in group["rebalances"] if each["generation"] == 2)
    assert {"poll_interval_exceeded", "session_timeout"} <= set(open_["candidates"])
