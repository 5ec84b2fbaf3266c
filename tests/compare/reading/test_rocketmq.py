"""What mqadmin printed in the captures tells exactly what was true, or says that it does not tell."""

import json
from itertools import combinations
from pathlib import Path

import pytest

from protocols import Queue
from tests.compare.reading.reading_rocketmq import CAPTURES, GROUPS, owned, queue_of, read_files, truth, wrong

UNTOLD = {
    # Every member owns every queue; nobody but the first was asked.
    "broadcast_3": {"10.22.0.2@i", "10.22.0.3@i"},
    # Members that do not agree: the table hides the second owners.
    "config_gap_overlap_3": {"10.17.0.2@i", "10.17.0.3@i"},
    "mixed_strategy_3": {"10.30.0.2@i", "10.30.0.3@i"},
    # Three members on one address, of whom one was asked.
    "same_ip_3": {"10.31.0.1@app-1", "10.31.0.1@app-2"},
}
LONG = "a_consumer_group_whose_name_is_much_longer_than_the_sixty_four_column_of_the_tool"


def test_each_groups_folder_tells_members_and_ownership_as_they_were(subtests: pytest.Subtests) -> None:
    for folder in GROUPS:
        with subtests.test(folder=folder):
            name, true = truth(folder)
            groups, _ = read_files(folder)
            assert list(groups) == [name]
            group = groups[name]
            if name.startswith("offline_"):
                # That nobody is connected went to the error stream, which the capture does not hold.
                assert group.members is None
                assert group.seen == ()
                continue
            assert group.members is not None
            told = owned(group)
            assert told.keys() == true.keys()
            assert {id for id, queues in told.items() if queues is None} == UNTOLD.get(name, set())
            assert wrong(group, true) == {}
            untold = {"TopicX", "order_events"} if name == "inconsistent_subs_3" else set()
            if group.mode == "shared" and (untold or UNTOLD.get(name)):
                assert group.partial is not None
                assert (set(group.partial.topics), set(group.partial.members)) == (untold, UNTOLD.get(name, set()))
            else:
                assert group.partial is None


def test_the_whole_cluster_is_told_from_one_folder() -> None:
    groups, skipped = read_files(CAPTURES)
    assert len(groups) == 49
    for folder in GROUPS:
        name, true = truth(folder)
        group = groups[name]
        assert group.members is not None
        told = owned(group)
        if name.startswith("offline_"):
            assert (group.members, group.state) == ((), "OFFLINE")
            continue
        assert group.state == "ONLINE"
        assert told.keys() == true.keys()
        assert {id for id, queues in told.items() if queues is None} == UNTOLD.get(name, set())
        assert wrong(group, true) == {}
    assert not [each for each in skipped if "allocateMQ" in each.source or "topicRoute." in Path(each.source).name]


def test_any_part_of_a_folder_claims_nothing_that_was_not_true(subtests: pytest.Subtests) -> None:
    for folder in GROUPS:
        with subtests.test(folder=folder):
            name, true = truth(folder)
            files = [file for file in sorted(folder.glob("*.txt")) if file.stat().st_size]
            for count in range(1, len(files)):
                for part in combinations(files, count):
                    groups, _ = read_files(*part)
                    assert len(groups) <= 1
                    for group in groups.values():
                        # The long name is cut in some views, and in the folder's name.
                        assert name.startswith(group.name)
                        assert group.name == name or name == LONG
                        if group.name == name:
                            assert wrong(group, true) == {}
                        if group.members is not None:
                            assert owned(group).keys() == true.keys()


def test_modes_and_strategies() -> None:
    groups, _ = read_files(CAPTURES / "groups")
    assert {name for name, group in groups.items() if group.mode != "shared"} == {"broadcast_3", "pop_mode_3"}
    assert groups["broadcast_3"].mode == "broadcasting"
    assert groups["pop_mode_3"].mode == "pop"
    for folder in GROUPS:
        told = json.loads((folder / "truth.json").read_text())
        strategies = {member["strategy"] for member in told["members"]}
        if told["online"] and len(strategies) == 1:
            assert groups[told["group"]].strategy == strategies.pop()
    assert groups["nearby_4"].strategy == "MACHINE_ROOM_NEARBY"


def test_a_pop_groups_retry_queues_have_owners_its_topics_have_none() -> None:
    groups, _ = read_files(CAPTURES / "groups" / "pop_mode_3", CAPTURES / "topics")
    group = groups["pop_mode_3"]
    assert owned(group)["10.35.0.3@i"] == frozenset()
    assert group.queues is not None
    assert {queue.topic for queue in group.queues} == {"shipping", "%RETRY%pop_mode_3"}


def test_members_that_do_not_agree_leave_queues_unowned_and_hide_second_owners() -> None:
    groups, _ = read_files(CAPTURES / "groups")
    group = groups["config_gap_overlap_3"]
    assert group.unowned == (Queue("shipping", "broker-b", 3),)
    assert any("do not agree" in note for note in group.notes)
    assert any("different topics" in note for note in groups["inconsistent_subs_3"].notes)


def test_a_young_group_is_told_by_what_has_an_offset() -> None:
    groups, skipped = read_files(CAPTURES / "errors")
    group = groups["fresh_group"]
    assert (group.state, group.members, group.member_count) == ("ONLINE", None, 3)
    assert group.unowned == ()
    assert sum("mqadmin failed" in each.why for each in skipped) == 4
    assert any("check the name 'no_such_group'" in each.why for each in skipped)
    assert any("expected an existing topic" in each.why for each in skipped)


def test_commands_that_tell_nothing_say_so() -> None:
    _, skipped = read_files(CAPTURES / "changes", CAPTURES / "topics", CAPTURES / "cluster")
    for view in ("updateTopic", "deleteSubGroup", "getConsumerConfig", "topicStatus", "topicList", "queryCq"):
        assert any(each.why.startswith(view) and "expected consumerProgress" in each.why for each in skipped)


def test_names_cut_to_a_column_are_completed_from_views_that_have_them_in_full() -> None:
    folder = CAPTURES / "groups" / LONG[:48]
    groups, _ = read_files(folder, CAPTURES / "cluster", CAPTURES / "changes")
    group = groups[LONG]
    topic = "a_topic_whose_name_is_longer_than_the_column_of_sixty_four_characters"
    assert not any(name != LONG and LONG.startswith(name) for name in groups)
    assert {queue.topic for queue in group.queues or ()} == {f"%RETRY%{LONG}", topic}
    assert group.lag[Queue(topic, "broker-b", 0)] == 6


def test_views_of_5_5_tell_the_groups_as_they_were() -> None:
    folder = CAPTURES / "5.5"
    groups, skipped = read_files(folder)
    known = {each["group"]: each for each in json.loads((folder / "truth.json").read_text(encoding="utf-8"))}
    assert groups.keys() == {*known, "everybody"}
    assert (groups["everybody"].mode, len(groups["everybody"].members or ())) == ("broadcasting", 1)
    for name, true in known.items():
        told = [(each.id, frozenset(each.owned or ())) for each in groups[name].members or ()]
        assert sorted(told, key=str) == sorted(
            ((each["clientId"], frozenset(map(queue_of, each["owned"]))) for each in true["members"]), key=str
        )
        assert groups[name].state == ("ONLINE" if true["online"] else "OFFLINE")
        assert sorted(groups[name].strategies) == sorted({each["strategy"] for each in true["members"]})
        assert groups[name].lag.keys() <= set(groups[name].queues or ())
    assert {Path(each.source).parent.name for each in skipped} == {"5.5", "everybody", "gone"}
