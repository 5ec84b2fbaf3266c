"""What RocketMQ's members never agree on is told with its reason, and what nobody ever owned is told at all."""

from typing import Any

from tests.compare.compared import made, ran


def of(members: dict[str, Any], system: str = "rocketmq:AVG", **more: Any) -> tuple[dict[str, Any], list[str]]:
    group = {"name": "g", "members": members}
    run = {"for": "4min", "seed": 3}
    given = {"topics": {"X": 8}, "group": group, "run": run, "systems": [system], "events": []} | more
    document = ran(made(**given))[1]
    (record,) = document["variants"]
    return record, [each["sentence"] for each in document["verdict"]]


def member(client_id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"subscribe": ["X"], "client_id": client_id, **more}


def test_queues_that_nobody_owns_until_an_event_are_told_with_what_kept_them_so() -> None:
    twins = {"c1": member(), "c2": member("same"), "c3": member("same")}
    record, told = of(twins, events=[{"at": "60s", "crash": "c2"}])
    first, last = record["after"]
    assert first["never_owned_queues"] == first["fairness"]["unowned_queues"] > 0
    assert first["never_owned_s"] == 60
    assert (last["never_owned_queues"], last["never_owned_s"]) == (0, 0)
    queues = first["never_owned_queues"]
    assert (
        f"RocketMQ AVG leaves {queues} of 8 queues without a first owner for 60 s, until c2 crashes, because c2 and"
        " c3 do not have unique client ids, and members with the same id take the same share."
    ) in told
    assert [sentence for sentence in told if ": c2 and c3 have the client id 'same', and each takes" in sentence]


def test_different_subscriptions_are_the_reason_of_what_nobody_owns_to_the_end() -> None:
    members = {"c1": ["X"], "c2": {"subscribe": ["Y"]}}
    record, told = of(members, topics={"X": 4, "Y": 4})
    assert record["fairness"]["unowned_queues"] == record["after"][0]["never_owned_queues"] == 4
    assert record["after"][0]["why_unowned"] == [
        "c2 is a member and does not read X, so the share of this member has no owner",
        "c1 is a member and does not read Y, so the share of this member has no owner",
    ]
    assert (
        "RocketMQ AVG ends with 4 of 8 queues without an owner: 2 queues per member where 4 would be possible,"
        f" because {' and '.join(f'{why};' for why in record['after'][0]['why_unowned']).rstrip(';')}."
    ) in told


def test_different_strategies_are_named_member_by_member() -> None:
    members = {"c1": member(strategy="AVG"), "c2": member(strategy="AVG_BY_CIRCLE")}
    record, told = of(members)
    assert record["after"][0]["why_shared"] == [
        "the members use different strategies: c1 AVG, c2 AVG_BY_CIRCLE",
    ]
    assert "because the members use different strategies: c1 AVG, c2 AVG_BY_CIRCLE" in " ".join(told)


def test_members_that_have_only_not_noticed_yet_are_no_reason() -> None:
    events = [{"at": "239s", "join": "c3", "subscribe": ["X"]}]
    record, _ = of({"c1": ["X"], "c2": ["X"]}, events=events)
    assert [(each["why_unowned"], each["why_shared"]) for each in record["after"]] == [([], [])] * 2


def test_in_kafka_a_coordinator_decides_and_no_such_reason_is_looked_for() -> None:
    record, _ = of({"c1": ["X"], "c2": {"subscribe": ["Y"]}}, "kafka:range", topics={"X": 4, "Y": 4})
    assert [(each["why_unowned"], each["why_shared"]) for each in record["after"]] == [([], [])]
    assert record["fairness"]["unowned_queues"] == 0


def test_queues_of_a_group_that_has_no_members_left_are_counted() -> None:
    crash = {"events": [{"at": "60s", "crash": "c1"}, {"at": "120s", "restart": "c1"}]}
    _, told = of({"c1": member()}, "kafka:range", **crash)
    (without,) = [sentence for sentence in told if "without an owner" in sentence]
    assert "leaves all 8 partitions without an owner for up to" in without
