"""Where every member reads every queue, nothing is shared, and nothing of that is held against the group."""

from typing import Any

from compare.explaining.standing import rows
from compare.running.event_outcomes import NOT_SHARED
from compare.running.systems import known_strategies
from protocols.scenario.reading import scenario
from tests.compare.compared import FOUR_MEMBERS, made, ran

SETTINGS = {"messageModel": "BROADCASTING"}
SYSTEMS = [{"system": "rocketmq:AVG", "label": "to all", "settings": SETTINGS}, "rocketmq:AVG"]
LOST = {"events": [{"at": "20s", "crash": "c2"}, {"at": "50s", "join": "c4", "subscribe": ["X", "Y"]}]}


def found(seeds: tuple[int, ...] = (), **more: Any) -> dict[str, Any]:
    return ran(made(**({"systems": SYSTEMS} | LOST | more)), seeds=seeds)[1]


def told(document: dict[str, Any], label: str) -> list[str]:
    return [each["sentence"] for each in document["verdict"] if each["label"] == label]


def test_a_group_in_which_everybody_reads_everything_settles_and_has_no_figures_of_sharing() -> None:
    document = found()
    to_all, shared = document["variants"]
    assert to_all["broadcasting"] == ["g"]
    assert shared["broadcasting"] == []
    for moment in to_all["after"]:
        assert [moment[name] for name in NOT_SHARED] == [None] * len(NOT_SHARED)
    assert to_all["fairness"]["jain"] is to_all["moves"] is to_all["double_owned_queue_s"] is to_all["lag"] is None
    assert to_all["fairness"]["members"] == shared["fairness"]["members"] == 2
    assert {check["name"]: check["held"] for check in to_all["checks"]} == {
        check["name"]: True for check in shared["checks"]
    }
    assert {len(queues) for queues in to_all["owners"].values()} == {4}


def test_the_verdict_says_that_nothing_is_shared_and_judges_only_those_that_share() -> None:
    document = found()
    assert told(document, "to all") == [
        "to all is BROADCASTING: each of 2 members must read all 4 queues, so no queue is shared, and figures of"
        " sharing (evenness, no owner, two owners, moves, lag) do not apply."
    ]
    assert not [each for each in document["verdict"] if each["label"] is None and "to all" in each["sentence"]]


def test_a_member_that_is_slow_to_read_all_has_not_settled() -> None:
    (to_all, _) = found(run={"for": "60s", "seed": 1}, events=[{"at": "59999ms", "crash": "c2"}])["variants"]
    assert [check["name"] for check in to_all["checks"] if not check["held"]] == []
    joins = [{"at": "59999ms", "join": "c4", "subscribe": ["X", "Y"]}]
    (to_all, _) = found(run={"for": "60s", "seed": 1}, events=joins)["variants"]
    assert ["settles" in check["name"] for check in to_all["checks"] if not check["held"]] == [True]


def test_over_seeds_the_figures_of_sharing_stay_unknown_and_the_stars_go_to_those_that_share() -> None:
    document = found(seeds=(1, 2, 3), systems=[*SYSTEMS, "rocketmq:CONSISTENT_HASH"])
    assert document["seeds"]["to all"]["figures"]["moves"]["known"] == 0
    assert document["seeds"]["rocketmq:AVG"]["figures"]["moves"]["known"] == 3
    records = [each for each in document["variants"] if each["seed"] == 1]
    table = zip(records, rows(records, document["seeds"]), strict=True)
    stars = {record["label"]: sum(cell.best for cell in row) for record, row in table}
    assert stars["to all"] == 0 < stars["rocketmq:AVG"]


def test_a_group_that_shares_is_judged_beside_one_that_does_not() -> None:
    to_all = {"subscribe": ["X"], "settings": SETTINGS}
    given = {name: value for name, value in FOUR_MEMBERS.items() if name != "group"} | {
        "groups": {
            "all": {"members": {"a1": to_all}},
            "g": {"members": {"c1": ["X", "Y"], "c2": ["X", "Y"]}},
        },
        "systems": ["rocketmq:AVG"],
        "events": [{"at": "20s", "group": "g", "crash": "c2"}, {"at": "50s", "group": "all", "join": "a2", **to_all}],
    }
    (record,) = ran(scenario(given, registered=known_strategies()))[1]["variants"]
    assert record["broadcasting"] == ["all"]
    assert record["double_owned_queue_s"] == 0 < record["moves"]
    assert record["fairness"]["queues"] == 4
    assert [moment["fewest_moves"] for moment in record["after"]] == [0, 2, 0]
    assert [moment["moves"] for moment in record["after"]] == [0, record["moves"], 0]
