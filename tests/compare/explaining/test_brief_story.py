"""Brief stories: short, in words, with the figures of the comparison."""

from pathlib import Path

from compare.explaining.brief_story import brief_story
from compare.formatting import duration
from compare.running.record import run_record
from compare.running.run_variant import RunResult, run_variant
from compare.running.systems import read
from compare.running.variants import variants_of
from tests.compare.showing import equipoise

SCENARIOS = Path(__file__).parents[3] / "examples" / "scenarios"
CRASH = SCENARIOS / "join-crash-leave-commit.yaml"


def result(path: Path, label: str) -> RunResult:
    (variant,) = variants_of(read(path), [label])
    return run_variant(variant)


def test_what_each_event_led_to_and_what_the_states_mean() -> None:
    run = result(CRASH, "kafka:range")
    record = run_record(run)
    told = brief_story(run).splitlines()
    assert told[0] == "join, crash, leave, commit: Kafka range, seed 1"
    crash = next(line for line in told if "c2 crashes" in line)
    (after,) = [each for each in record["after"] if each["events"] == ["c2 crashes"]]
    assert "session of c2 timed out, 42 s later" in crash
    assert f"the longest for {duration(after['longest_gap_s'] or 0)}" in crash
    assert f"{after['paused_queues']} partitions are without an owner" in crash
    assert "Then each of 2 members has 3." in crash
    # A state is explained where it is named first, and only there.
    meaning = "PreparingRebalance: the coordinator waits until all members have joined again"
    assert [meaning in line for line in told].index(True) == 1
    assert "\n".join(told).count(meaning) == 1
    assert told[-1].endswith(f"the run ends: c1 has 6. {record['redelivered']} records were handled more than once.")


def test_members_that_rebalance_by_themselves_are_named() -> None:
    told = brief_story(result(CRASH, "rocketmq:AVG"))
    assert "c1, c2 and c3 rebalance, each for itself, 22 ms to 1.07 s later (member list changed at broker-b)." in told
    assert "%RETRY%" not in told
    assert "the run ends: c1 has 6." in told


def test_the_consumer_protocol_counts_epochs() -> None:
    told = brief_story(result(CRASH, "kafka:uniform"))
    assert "A rebalance (epoch 5): session of c2 timed out, 40 s later" in told
    assert "Assigning: the target is older than the group; the next heartbeat has a new one computed" in told


def test_a_broker_that_dies_is_told_with_what_could_not_be_until_when() -> None:
    run = result(SCENARIOS / "broker-dies.yaml", "kafka:range")
    (line,) = [each for each in brief_story(run).splitlines() if "b1 is killed" in each]
    (outage,) = run_record(run)["outages"]
    fenced = duration(outage["stages"][0]["after_s"])
    assert f"No partition is acknowledged until the controller fences b1, {fenced} later [broker.session" in line
    assert f"No record of its partitions is handled for up to {duration(outage['without_read_s']['its'] or 0)}" in line


def test_the_command_tells_it() -> None:
    told = equipoise("compare", str(CRASH), "--story", "kafka:range", "--length", "brief")
    assert told.returncode == 0
    assert told.stdout == brief_story(result(CRASH, "kafka:range"))
