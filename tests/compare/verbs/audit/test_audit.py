"""`equipoise audit` at the console: real clusters judged, bad input told in one line."""

import json
from pathlib import Path

import pytest

from tests.compare.showing import EXAMPLES, equipoise

SEED = EXAMPLES / "rocketmq/seed_group"
KAFKA = EXAMPLES / "kafka/all-groups.members-verbose.txt"


def audited(*arguments: str) -> dict[str, dict[str, object]]:
    """Group name to its JSON."""
    done = equipoise("audit", "--format", "json", *arguments)
    assert done.returncode == 0, done.stderr
    return {group["group"]: group for group in json.loads(done.stdout)["groups"]}


def test_four_members_two_topics_and_the_second_half_idles() -> None:
    group = audited(str(SEED))["seed_group"]
    assert (group["system"], group["mode"], group["strategy"]) == ("rocketmq", "shared", "AVG")
    assert (group["members"], group["idle_members"], group["queues"]) == (4, 2, 4)
    assert (group["min"], group["max"], group["mean"], group["spread"]) == (0, 2, 1, 2)
    assert (group["jain"], group["max_over_mean"], group["pile_up"]) == (0.5, 2.0, 1.0)
    owners = group["owners"]
    assert isinstance(owners, dict)
    assert owners["10.1.0.4@i"] == []
    retry = ["%RETRY%seed_group", "broker-a", 0]
    assert owners["10.1.0.1@i"] == [retry, ["TopicX", "broker-a", 0], ["TopicY", "broker-a", 0]]
    topics = group["topics"]
    assert isinstance(topics, dict)
    assert sorted(topics) == ["TopicX", "TopicY"]
    assert topics["TopicX"]["idle_members"] == 2


def test_retry_queues_count_only_when_asked_for() -> None:
    group = audited("--with-retry", str(SEED))["seed_group"]
    assert group["queues"] == 6
    assert group["max"] == 3
    assert "%RETRY%seed_group" in group["topics"]  # type: ignore[operator]


def test_lag_as_weight() -> None:
    plain, weighted = (
        audited(*arguments, str(EXAMPLES / "rocketmq/pay_avg_5"))["pay_avg_5"]
        for arguments in ((), ("--weight", "lag"))
    )
    assert plain["mean"] == 6
    assert weighted["mean"] == plain["lag"] / 5  # type: ignore[operator]


def test_several_kinds_in_one_stream_are_told_apart() -> None:
    stream = b"\n".join(path.read_bytes() for path in (KAFKA, *sorted(SEED.glob("*.txt"))))
    done = equipoise("audit", "--format", "json", "-", stdin=stream)
    groups = json.loads(done.stdout)["groups"]
    assert {group["system"] for group in groups} == {"kafka", "rocketmq"}
    assert sum(group["system"] == "kafka" for group in groups) >= 13


def test_named_and_unnamed_sources_are_joined() -> None:
    files = [f"seed_group={SEED / view}" for view in ("consumerConnection.txt", "consumerProgress_s.txt")]
    group = audited(*files)["seed_group"]
    assert group["idle_members"] == 2
    assert len(group["sources"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["table", "json"])
def test_the_same_bytes_under_any_hash_seed(format: str) -> None:
    outputs = {equipoise("audit", "--format", format, str(EXAMPLES), hash_seed=seed).stdout for seed in ("0", "77")}
    assert len(outputs) == 1


def test_the_worst_come_first_with_one_headline() -> None:
    lines = equipoise("audit", str(EXAMPLES)).stdout.splitlines()
    assert lines[0].startswith(
        "1 of 27 groups has no member, and 425 records wait there. 2 of 27 groups leave 4 queues"
    )
    assert "5 of 27 groups keep 11 members idle" in lines[0]
    rows = [line.split() for line in lines[4:] if line.split()]
    assert rows[0][1] == "dup_client_id"
    names = [row[1] for row in rows]
    assert names.index("seed_group") < names.index("wide_avg_8") < names.index("etl_audit-v2-04")


HEADER = "GROUP   TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG   CONSUMER-ID HOST   CLIENT-ID"
BAD = {
    "empty": b"",
    "binary": bytes(range(256)),
    "header without rows": b"\n" + HEADER.encode() + b"\n",
    "two headers without rows": b"\nGROUP   CONSUMER-ID   HOST   CLIENT-ID   #PARTITIONS\n" * 2,
    "cut in the middle of a row": b"\n" + HEADER.encode() + b"\ng       t       0          1",
    "thousands of columns": b"GROUP " + b" ".join(b"C%d" % n for n in range(5000)) + b"\n" + b"x " * 5000,
    "an unknown tool": b"NAME   READY   STATUS\npod-1  1/1     Running\n",
    "an error of a tool": b"Error: Executing consumer group command failed due to org.apache.kafka.TimeoutException\n",
}


def test_bad_input_is_one_line_and_the_others_are_still_reported(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for name in BAD:
        with subtests.test(name=name):
            bad = tmp_path / "bad.txt"
            bad.write_bytes(BAD[name])
            alone = equipoise("audit", str(bad))
            assert alone.returncode == 2, alone.stdout
            assert "Traceback" not in alone.stderr
            lines = alone.stderr.splitlines()
            assert len(lines) == 1, lines
            assert lines[0].startswith(str(bad))
            assert "expected" in lines[0]
            assert len(lines[0]) < 600
            together = equipoise("audit", str(bad), str(SEED))
            assert together.returncode == 0
            assert "seed_group" in together.stdout
            assert lines[0] in together.stderr


def test_a_missing_file_and_bad_options() -> None:
    for arguments, part in [
        (("audit", "gone.txt"), "gone.txt: cannot be read: No such file"),
        (("audit",), "Missing argument 'SOURCE...'"),
        (("audit", "--weight", "size", "x"), "'size' is not one of 'lag', 'rate'"),
        (("audits",), "No such command 'audits'"),
    ]:
        done = equipoise(*arguments)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert part in done.stderr


def test_every_group_has_a_cause_a_remedy_and_what_would_be_better() -> None:
    group = audited(str(SEED))["seed_group"]
    assert "remainder" in str(group["cause"])
    assert "updateTopic" in str(group["remedy"])
    assert group["optimum"] == {"max": 1, "min": 1, "idle_members": 0, "jain": 1.0, "moves": 2}
    assert group["score"] < group["score_after"] == 100  # type: ignore[operator]
    assert len(group["what_if"]) == 9  # type: ignore[arg-type]


def test_the_report_is_written_the_same_twice(tmp_path: Path) -> None:
    pages = []
    for name in ("a.html", "b.html"):
        done = equipoise("audit", str(EXAMPLES), "--report", str(tmp_path / name), hash_seed=str(len(pages)))
        assert done.returncode == 0
        assert str(tmp_path / name) in done.stderr
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]
    assert b"seed_group" in pages[0]
    refused = equipoise("audit", str(SEED), "--report", str(tmp_path / "no" / "x.html"))
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    # It is said first, before anything is read.
    assert refused.stdout == ""
