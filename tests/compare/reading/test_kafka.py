"""Captured output of Kafka's tools is read as the cluster's Admin client described it at that time."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from compare.reading.observed import ObservedGroup
from protocols import Queue
from tests.compare.reading.reading_kafka import CAPTURES, FOLDERS, read_files

TRUTH: dict[str, dict[str, Any]] = {
    folder: json.loads((CAPTURES / folder / "truth.json").read_text(encoding="utf-8")) for folder in FOLDERS
}
FILES = [path for folder in FOLDERS for path in sorted((CAPTURES / folder).glob("*.txt"))]

PREFIXES = {
    name: about["file_prefix"]
    for name, about in json.loads((CAPTURES / "groups" / "groups.json").read_text(encoding="utf-8")).items()
    if name != "share-grp"
}


@dataclass(frozen=True)
class Truth:
    """A group as truth.json has it."""

    raw: dict[str, Any]
    topics: dict[str, Any]

    @property
    def owned(self) -> dict[str, set[Queue]]:
        return {each["consumer_id"]: queues(each["assignment"]) for each in self.raw["members"]}

    @property
    def read(self) -> set[Queue]:
        """Every partition of the topics that somebody owns or is to own; in an empty group those with offsets."""
        if not self.raw["members"]:
            return set(self.committed)
        topics = {
            topic for each in self.raw["members"] for key in ("assignment", "target") for topic in each.get(key, ())
        }
        return {Queue(topic, "", number) for topic in topics for number in range(self.topics[topic]["partitions"])}

    @property
    def committed(self) -> dict[Queue, int]:
        pairs = ((key.rsplit(":", 1), offset) for key, offset in self.raw["offsets"].items())
        return {Queue(topic, "", int(number)): offset for (topic, number), offset in pairs}

    @property
    def strategy(self) -> str | None:
        name = self.raw["assignor"] or None
        return "server-range" if name == "range" and self.raw["type"] == "Consumer" else name


def queues(assignment: dict[str, list[int]]) -> set[Queue]:
    return {Queue(topic, "", number) for topic, numbers in assignment.items() for number in numbers}


def truths(folder: str) -> dict[str, Truth]:
    topics = TRUTH[folder]["topics"]
    return {each["group"]: Truth(each, topics) for each in TRUTH[folder]["groups"] if each["type"] != "Share"}


def assert_agrees(group: ObservedGroup, truth: Truth) -> None:
    """Whatever is told is true; what is not told is None."""
    owned = truth.owned
    members = group.seen if group.members is None else group.members
    if group.members is None:
        assert {member.id for member in members} <= owned.keys()
    else:
        assert sorted(member.id for member in members) == sorted(owned)
        assert (group.seen, group.member_count, group.idle_count) == ((), None, None)
    for member in members:
        if member.owned is None:
            assert member.queue_count == len(owned[member.id]) > 0
        else:
            assert set(member.owned) == owned[member.id]
            assert len(member.owned) == len(owned[member.id])
        raw = next(each for each in truth.raw["members"] if each["consumer_id"] == member.id)
        assert (member.client_id, member.host) == (raw["client_id"], raw["host"])
        assert member.instance_id in (None, raw.get("instance_id"))
    assert group.member_count in (None, len(owned))
    assert group.idle_count in (None, sum(not each for each in owned.values()))
    assert group.state in (None, truth.raw["state"], "rebalancing")
    # Whether range is the consumer protocol's, the state view alone does not tell.
    assert group.strategy in (None, truth.strategy, truth.raw["assignor"])
    assert set(group.queues or ()) <= truth.read | set(truth.committed)


def test_every_file_alone_tells_the_truth_or_nothing(subtests: pytest.Subtests) -> None:
    for file in FILES:
        with subtests.test(file=file):
            groups, _ = read_files(file)
            known = truths(file.parent.name)
            for name, group in groups.items():
                if name in known:
                    assert_agrees(group, known[name])
                elif group.mode != "share":
                    # Listings name groups of the same cluster that truth.json leaves out; nothing else does.
                    assert file.name.startswith(("list-", "kafka-groups-list", "share-list", "streams-list"))
                    assert group.members in (None, ())
                    assert group.queues is None


def test_a_folder_tells_everything(subtests: pytest.Subtests) -> None:
    for folder in FOLDERS:
        with subtests.test(folder=folder):
            groups, _ = read_files(CAPTURES / folder)
            known = truths(folder)
            assert known.keys() <= groups.keys()
            for name, truth in known.items():
                group = groups[name]
                assert_agrees(group, truth)
                assert group.members is not None
                assert all(member.owned is not None for member in group.members)
                assert {m.id for m in group.members if not m.owned} == {
                    id for id, owned in truth.owned.items() if not owned
                }
                assert group.state == truth.raw["state"]
                assert group.strategy == truth.strategy
                assert set(group.queues or ()) == truth.read
                assert group.queues is None or list(group.queues) == sorted(group.queues)
                abandoned = sorted({queue.topic for queue in truth.committed} - {queue.topic for queue in truth.read})
                assert [note.partition(",")[0] for note in group.notes] == [
                    f"topic {topic} has no owner" for topic in abandoned
                ]
                static = {m.id: m.instance_id for m in group.members}
                assert static == {each["consumer_id"]: each.get("instance_id") for each in truth.raw["members"]}
                behind = {
                    queue: max(0, truth.topics[queue.topic]["log_end"][queue.number] - offset)
                    for queue, offset in truth.committed.items()
                }
                assert group.lag == {queue: behind.get(queue) for queue in group.queues or ()}


def of_group(name: str, *views: str) -> ObservedGroup | None:
    groups, _ = read_files(*(CAPTURES / "groups" / f"{PREFIXES[name]}.{view}.txt" for view in views))
    assert groups.keys() <= {name}
    return groups.get(name)


def test_what_each_view_tells(subtests: pytest.Subtests) -> None:
    for name in PREFIXES:
        with subtests.test(name=name):
            truth = truths("groups")[name]
            owners = {id: owned for id, owned in truth.owned.items() if owned}

            for view in ("offsets", "offsets-verbose"):
                shown = of_group(name, view)
                assert shown is not None
                assert shown.members is None
                assert {each.id: set(each.owned or ()) for each in shown.seen} == owners
                assert set(shown.queues or ()) == truth.read

                with_state = of_group(name, view, "state")
                assert with_state is not None
                if len(owners) == len(truth.owned):
                    assert with_state.members is not None
                else:
                    assert with_state.members is None
                    assert with_state.member_count == len(truth.owned)
                    assert with_state.idle_count == len(truth.owned) - len(owners)

                both = of_group(name, view, "members")
                assert both is not None
                if truth.owned:
                    assert {each.id: set(each.owned or ()) for each in both.members or ()} == truth.owned

            state = of_group(name, "state")
            assert state is not None
            assert state.queues is None
            assert (state.member_count if truth.owned else state.members) == (len(truth.owned) or ())

            short, verbose = of_group(name, "members"), of_group(name, "members-verbose")
            if not truth.owned:
                # Only the header is left, and it names nobody.
                assert (short, verbose) == (None, None)
                continue
            assert short is not None
            assert verbose is not None
            counts = {
                each.id: len(each.owned) if each.owned is not None else each.queue_count for each in short.members or ()
            }
            assert counts == {id: len(owned) for id, owned in truth.owned.items()}
            assert {each.id: set(each.owned or ()) for each in verbose.members or ()} == truth.owned
            assert set(verbose.queues or ()) == truth.read


def test_errors_lists_and_other_tools_give_one_line_each(subtests: pytest.Subtests) -> None:
    for folder in FOLDERS:
        with subtests.test(folder=folder):
            expected = {
                "no-such-group": "look up the group's name with --list",
                "by-consumer-tool": "ask kafka-share-groups",
                "list-error-no-broker": "no broker answered: check --bootstrap-server",
                "streams-grp.": "judge",
                "by-share-tool": "ask kafka-consumer-groups for it",
                "list.txt": "plain list of names",
            }
            for file in sorted((CAPTURES / folder).glob("*.txt")):
                why = next((why for part, why in expected.items() if part in file.name), None)
                if why is None or file.name == "kafka-groups-list.txt":
                    continue
                groups, skipped = read_files(file)
                assert groups == {}
                if "by-consumer-tool" in file.name:
                    why = expected["by-consumer-tool"]
                assert [each.source for each in skipped] == [str(file)], file
                assert why in skipped[0].why
                assert "\n" not in skipped[0].why
                assert skipped[0].line in (1, 2)


def test_streams_groups_of_a_listing_are_named_and_left_out() -> None:
    groups, skipped = read_files(CAPTURES / "groups" / "kafka-groups-list.txt")
    assert groups["share-grp"].mode == "share"
    assert "streams-app" not in groups
    assert len(groups) == 140
    assert [each.why.split("'")[1] for each in skipped] == ["streams-app"]
