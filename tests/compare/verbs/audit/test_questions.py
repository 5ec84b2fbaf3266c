"""What-if questions at the console."""

import json

import pytest

from tests.compare.showing import EXAMPLES, equipoise

SEED = str(EXAMPLES / "rocketmq/seed_group")


def asked(*options: str) -> dict[str, object]:
    done = equipoise("audit", SEED, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(done.stdout)["asked"]
    assert isinstance(answer, dict)
    return answer


def rows(answer: dict[str, object]) -> dict[str, dict[str, object]]:
    return {row["strategy"]: row for row in answer["rows"]}  # type: ignore[attr-defined]


def test_the_same_group_under_every_other_strategy() -> None:
    found = rows(asked("--what-if"))
    assert set(found) >= {"range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "AVG", "optimum"}
    assert (found["AVG"]["max"], found["AVG"]["idle_members"], found["AVG"]["moves"]) == (2, 2, 0)
    assert (found["optimum"]["max"], found["optimum"]["idle_members"], found["optimum"]["moves"]) == (1, 0, 2)


def test_the_next_useful_number_of_members_under_several_topics() -> None:
    answer = asked("--members", "1..8")
    assert answer["strategy"] == "AVG"
    counts = answer["counts"]
    assert [row["max"] for row in counts] == [4, 2, 2, 2, 2, 2, 2, 2]  # type: ignore[attr-defined]
    useful = answer["next_useful"]
    assert isinstance(useful, dict)
    # Dealt topic by topic a fifth member changes nothing; dealt across topics today's four are enough as well.
    assert (useful["AVG"], useful["range"], useful["roundrobin"], useful["optimum"]) == (None, None, None, None)


def test_a_useful_number_differs_by_strategy() -> None:
    done = equipoise("audit", str(EXAMPLES / "rocketmq/pay_avg_5"), "--members", "1..20", "--format", "json")
    (answer,) = json.loads(done.stdout)["asked"]
    assert answer["next_useful"]["AVG"] == 6
    assert answer["next_useful"]["optimum"] == 6
    assert answer["next_useful"]["AVG_BY_CIRCLE"] == 6
    table = equipoise("audit", str(EXAMPLES / "rocketmq/pay_avg_5"), "--members", "1..20").stdout
    assert "pay_avg_5 under AVG: the next member count that lowers the largest load is 6" in table


def test_a_member_gone_and_queues_added() -> None:
    assert rows(asked("--without", "10.1.0.4@i"))["AVG"]["idle_members"] == 1
    assert rows(asked("--queues", "TopicX=4", "--queues", "TopicY=4"))["AVG"]["idle_members"] == 0


def test_a_question_that_cannot_be_is_one_line(subtests: pytest.Subtests) -> None:
    for options, part in [
        (("--members", "5"), "expected 1..N"),
        (("--members", "1..0"), "expected 1..N"),
        (("--without", "nobody"), "no group with known ownership has this member"),
        (("--queues", "TopicX"), "expected TOPIC=N"),
        (("--queues", "Other=3"), "reads this topic"),
        (("--queues", "TopicX=1"), "TopicX"),
    ]:
        with subtests.test(options=options, part=part):
            done = equipoise("audit", SEED, *options)
            assert done.returncode == 2
            assert len(done.stderr.splitlines()) == 1
            assert part in done.stderr


def test_a_login_is_for_a_running_kafka_alone() -> None:
    done = equipoise("audit", SEED, "--command-config", "admin.properties")
    assert done.returncode == 2
    assert done.stderr == (
        "equipoise: --command-config admin.properties: applies only to a running Kafka cluster, expected a"
        " source kafka://host:port\n"
    )
