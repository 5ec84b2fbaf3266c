"""Names of every kind are read back from Kafka's layouts; no text makes the reader fail."""

import json
import re
import uuid
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.reading.observed import ObservedGroup
from compare.reading.sources import load
from protocols import Queue
from tests.compare.reading.kafka_tool import ToolMember, list_view, members_view, offsets_view, state_view
from tests.compare.reading.reading_kafka import CAPTURES, read, read_all, read_files, text

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\n")
CLIENT_IDS = st.one_of(st.text(CHARACTERS, max_size=40), st.text("ab-:,;() /", max_size=30))
# Blanks at the end cannot be told from padding.
GROUPS = st.one_of(
    st.text(CHARACTERS, min_size=1, max_size=40),
    st.text("ab-:,;() 1😀中", min_size=1, max_size=60),
    st.sampled_from(
        [
            "GROUP",
            "GROUP  TOPIC",
            "a  b",
            "a:1 (2)",
            "TOPIC ",
            "-",
            "Consumer group 'x'",
            "0 1 - /h",
            "Error: no",
            "Topic: a",
            "java.lang.Error: x",
        ]
    ),
).filter(lambda name: not name.endswith(" "))
TOPICS = st.text("abcXYZ019._-", min_size=1, max_size=40)
# Of an instance id of blanks alone the views show nothing.
INSTANCES = st.one_of(
    st.text("abcXYZ019._-", min_size=1, max_size=25),
    st.text(CHARACTERS, min_size=1, max_size=30),
    st.text("ab-:,;() /0", min_size=1, max_size=30),
).filter(lambda instance: bool(instance.strip(" ")))
HOSTS = st.sampled_from(
    ["/127.0.0.1", "/0:0:0:0:0:0:0:1", "/2001:db8:85a3:8d3:1319:8a2e:370:7348", "node.example/10.0.0.1"]
)
BASE64 = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+/", min_size=22, max_size=22)


@st.composite
def members(draw: st.DrawFn) -> list[ToolMember]:
    """Members of one group; each partition of the topics has one owner or none."""
    topics = draw(st.lists(TOPICS, min_size=1, max_size=3, unique=True))
    count = draw(st.integers(1, 5))
    assigned: list[dict[str, list[int]]] = [{} for _ in range(count)]
    for topic in topics:
        for number in range(draw(st.integers(1, 12))):
            owner = draw(st.integers(-1, count - 1))
            if owner >= 0:
                assigned[owner].setdefault(topic, []).append(number)
    consumer_protocol = draw(st.booleans())
    found = []
    for owned in assigned:
        client = draw(CLIENT_IDS)
        instance = draw(st.one_of(st.just(""), st.just(client.strip(" ")), INSTANCES))
        suffix = str(uuid.UUID(int=draw(st.integers(0, 2**128 - 1))))
        id = draw(BASE64) if consumer_protocol else f"{instance or client}-{suffix}"
        epoch = draw(st.integers(0, 99)) if consumer_protocol else None
        found.append(ToolMember(id, client, owned, instance, draw(HOSTS), epoch, owned if consumer_protocol else None))
    return list({each.id: each for each in found}.values())


def owned(group: ObservedGroup) -> dict[str, set[tuple[str, int]]]:
    shown = group.seen if group.members is None else group.members
    return {each.id: {(queue.topic, queue.number) for queue in each.owned or ()} for each in shown}


def told(shown: Sequence[ToolMember]) -> dict[str, set[tuple[str, int]]]:
    return {each.id: {(topic, number) for topic in each.assigned for number in each.assigned[topic]} for each in shown}


@settings(max_examples=100, deadline=None)
@given(GROUPS, members(), st.booleans())
def test_the_verbose_members_view_is_read_back(name: str, shown: list[ToolMember], old: bool) -> None:
    groups, skipped = read(text(*members_view(name, shown, verbose=True, old=old)))
    assert skipped == []
    assert groups.keys() == {name}
    group = groups[name]
    assert owned(group) == told(shown)
    assert group.members is not None
    for member, expected in zip(group.members, shown, strict=True):
        # A classic consumer id tells the blanks at the end of the id that it begins with.
        texts = {"instance": expected.instance_id, "client": expected.client_id}
        begins = "instance" if expected.instance_id else "client"
        shown_texts = {
            what: text if what == begins and expected.id.startswith(f"{text}-") else text.rstrip(" ")
            for what, text in texts.items()
        }
        assert (member.id, member.host) == (expected.id, expected.host)
        assert (member.instance_id or "", member.client_id or "") == (shown_texts["instance"], shown_texts["client"])


@settings(max_examples=100, deadline=None)
@given(GROUPS, members(), st.booleans(), st.data())
def test_offsets_and_short_members_together_are_read_back(
    name: str, shown: list[ToolMember], verbose: bool, data: st.DataObject
) -> None:
    topics = sorted({topic for each in shown for topic in each.assigned})
    queues = [(topic, number) for topic in topics for number in range(12)]
    offsets = st.tuples(st.integers(0, 10**18), st.integers(0, 10**18))
    committed = data.draw(st.dictionaries(st.sampled_from(queues), offsets, max_size=8)) if queues else {}
    view = offsets_view(name, shown, committed, verbose)
    groups, skipped = read(text(*view, *members_view(name, shown)))
    assert skipped == []
    assert groups.keys() == {name}
    group = groups[name]
    assert group.members is not None
    assert owned(group) == told(shown)
    assert {queue.topic for queue in group.queues or ()} == set(topics)
    lag = {Queue(topic, "", number): max(0, end - at) for (topic, number), (at, end) in committed.items()}
    assert {queue: lag for queue, lag in group.lag.items() if lag is not None} == lag

    if view:
        alone, skipped = read(text(*view))
        assert skipped == []
        assert owned(alone[name]) == {id: owned for id, owned in told(shown).items() if owned}


@settings(max_examples=100, deadline=None)
@given(
    GROUPS,
    st.from_regex(r"[a-z0-9.\-]{1,60}:[0-9]{1,5}", fullmatch=True),
    st.sampled_from(["range", "cooperative-sticky", "com.example.assignors.WeightedByLagAssignor", "my own"]),
    st.booleans(),
    st.booleans(),
)
def test_the_state_view_is_read_back_though_long_names_push_its_columns(
    name: str, coordinator: str, strategy: str, old: bool, verbose: bool
) -> None:
    lines = state_view(name, coordinator, strategy, "Stable", 7, old, 4 if verbose and not old else None)
    groups, skipped = read(text(*lines))
    assert skipped == []
    assert groups.keys() == {name}
    expected = "server-range" if strategy == "range" and verbose and not old else strategy
    assert (groups[name].state, groups[name].strategy, groups[name].member_count) == ("Stable", expected, 7)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(GROUPS, st.tuples(st.sampled_from(["Classic", "Consumer"]), st.just("Stable")), min_size=1))
def test_a_listing_is_read_back(listed: dict[str, tuple[str, str]]) -> None:
    groups, skipped = read(text(*list_view(listed)))
    assert skipped == []
    assert {name: group.state for name, group in groups.items()} == dict.fromkeys(listed, "Stable")


FILES = [
    each
    for each in sorted(CAPTURES.glob("*/*.txt"))
    if 0 < each.stat().st_size < 7_000 or each.name.startswith("all-groups.state")
]
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "insert", "repeat line", "drop line", "cut", "squeeze", "swap lines"]),
        st.floats(0, 1, exclude_max=True),
        st.one_of(
            st.text(max_size=5), st.sampled_from(["\n", " ", "\t", "-", "😀", "\x1b[31m", "9" * 5000, ":" * 3000])
        ),
    ),
    min_size=1,
    max_size=6,
)


def edited(original: str, edits: list[tuple[str, float, str]]) -> str:
    for edit, where, what in edits:
        at = int(where * len(original))
        lines = original.split("\n")
        row = int(where * len(lines))
        if edit == "delete":
            original = original[:at] + original[at + 1 + len(what) :]
        elif edit == "insert":
            original = original[:at] + what + original[at:]
        elif edit == "cut":
            original = original[:at]
        elif edit == "squeeze":
            original = re.sub(" +", " ", original)
        elif edit == "repeat line":
            original = "\n".join([*lines[:row], lines[row], *lines[row:]])
        elif edit == "drop line":
            original = "\n".join(lines[:row] + lines[row + 1 :])
        else:
            original = "\n".join([*lines[:row], *reversed(lines[row : row + 2]), *lines[row + 2 :]])
    return original


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FILES), min_size=1, max_size=3), EDITS)
def test_damaged_captures_are_read_or_skipped_never_fail(
    files: list[Path], edits: list[tuple[str, float, str]]
) -> None:
    original = "".join(each.read_text(encoding="utf-8") for each in files)
    groups, skipped = read_all([text(edited(original, edits))])
    for group in groups:
        for member in group.members or group.seen:
            assert member.owned is None or set(member.owned) <= set(group.queues or ())
    assert all(each.line is None or each.line >= 1 for each in skipped)


def test_captures_are_read_whole() -> None:
    """The damaged ones above start from texts that the reader takes."""
    groups, _ = read_all(load(str(each) for each in FILES))
    assert len(groups) > 100


@pytest.mark.parametrize(
    "views",
    [
        ("members-verbose",),
        ("members", "offsets"),
        ("members", "offsets-verbose"),
        ("2.8.2.members-verbose",),
        ("2.8.2.members", "2.8.2.offsets"),
    ],
)
def test_ids_with_blanks_that_real_tools_printed_are_those_that_the_clients_knew(views: Sequence[str]) -> None:
    folder = CAPTURES / "odd-ids"
    groups, skipped = read_files(*(folder / f"{view}.txt" for view in views))
    is_old = views[0].startswith("2.8.2")
    # The tool of 2.8.2 does not know groups of the consumer protocol.
    assert (skipped != []) == is_old
    found = [
        {
            "group": group.name,
            "member": member.id,
            "client": member.client_id,
            "instance": member.instance_id,
            "owned": [f"{queue.topic}:{queue.number}" for queue in member.owned or ()],
        }
        for group in groups.values()
        for member in group.members or ()
    ]
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    truth = [each for each in truth if not (is_old and each["group"] == "odd next")]
    assert sorted(found, key=itemgetter("member")) == sorted(truth, key=itemgetter("member"))
    assert is_old or groups["odd next"].consumer_protocol


def test_a_member_whose_line_cannot_be_read_is_not_called_unlisted() -> None:
    members = (
        (CAPTURES / "odd-ids" / "members-verbose.txt").read_text(encoding="utf-8").replace("/127.0.0.1", "127.0.0.1 ")
    )
    state = (CAPTURES / "odd-ids" / "state.txt").read_text(encoding="utf-8")
    groups, skipped = read(text(members), text(state))
    assert [each.why.partition(",")[0] for each in skipped] == [
        "expected a number under #PARTITIONS and an address under HOST"
    ] * 3
    for group in groups.values():
        assert group.partial is not None
        assert group.partial.why.startswith("no line that can be read lists the members")
