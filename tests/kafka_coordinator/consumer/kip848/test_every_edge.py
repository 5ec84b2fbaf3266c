"""Every edge of the client's state graph is taken by some sequence of events, and no event leads beside the graph."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.consumer import Close, GoOn, StopPolling, Subscribe
from kafka_coordinator.consumer.kip848.states import CONSUMER_PROTOCOL, STABLE
from kafka_coordinator.messages import (
    ConsumerGroupHeartbeat,
    FindCoordinator,
    MetadataRequest,
    OffsetCommit,
    OffsetFetch,
)
from tests.kafka_coordinator.consumer.kip848.scripted import ScriptedMember

A, B = ("t", 0), ("t", 1)
Step = tuple[str, str, str]

ERRORS = (
    "FENCED_MEMBER_EPOCH",
    "UNKNOWN_MEMBER_ID",
    "NOT_COORDINATOR",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "INVALID_REQUEST",
)

WORDS = (
    *("wait", "long", "metadata", "coordinator", "no coordinator", "commit", "offsets", "target", "other", "beat"),
    *("away", "back", "close", "unsubscribe", "subscribe", "cut", *ERRORS),
)


def perform(member: ScriptedMember, word: str) -> None:
    """What the word says, where there is something to answer."""
    asked = {type(message) for _, message in member.asked}
    if word in ("wait", "long"):
        member.wait(5_000 if word == "wait" else 18_000)
    elif word == "metadata" and MetadataRequest in asked:
        member.metadata()
    elif word == "coordinator" and FindCoordinator in asked:
        member.coordinator()
    elif word == "no coordinator" and FindCoordinator in asked:
        member.coordinator("COORDINATOR_NOT_AVAILABLE")
    elif word == "commit" and OffsetCommit in asked:
        member.committed()
    elif word == "offsets" and OffsetFetch in asked:
        member.offsets(0)
    elif word in ("target", "other", "beat", *ERRORS) and ConsumerGroupHeartbeat in asked:
        assignment = {"target": (A, B), "other": (A,)}.get(word)
        member.beats(assignment=assignment, error=word if word in ERRORS else "NONE", **_epoch(member))
    elif word in COMMANDS:
        member.command(COMMANDS[word])
    elif word == "cut":
        member.closed()


COMMANDS = {
    "away": StopPolling(),
    "back": GoOn(),
    "close": Close(),
    "unsubscribe": Subscribe(()),
    "subscribe": Subscribe(("t",)),
}


def _epoch(member: ScriptedMember) -> dict[str, Any]:
    epoch = member.state.membership.generation
    return {"epoch": epoch if epoch < 0 else max(epoch, 1)}


def walked(words: list[str]) -> set[Step]:
    """The edges that these events take."""
    member = ScriptedMember(rate=10.0, settings={"max.poll.interval.ms": 12_000, "auto.commit.interval.ms": 60_000})
    for word in words:
        perform(member, word)
    return set(member.steps())


START = ["metadata", "coordinator", "target", "beat", "offsets"]
"""To a stable member."""

SCRIPTS = (
    ["metadata", "coordinator", "FENCED_MEMBER_EPOCH", "target"],
    ["metadata", "coordinator", "INVALID_REQUEST"],
    ["metadata", "coordinator", "unsubscribe"],
    ["metadata", "coordinator", "away", "long"],
    ["metadata", "coordinator", "away", "target", "FENCED_MEMBER_EPOCH"],
    [*START, "wait", "other", "wait", "FENCED_MEMBER_EPOCH"],
    [*START, "wait", "FENCED_MEMBER_EPOCH"],
    [*START, "away", "wait", "FENCED_MEMBER_EPOCH", "unsubscribe"],
    [*START, "away", "long", "beat", "back", "target"],
    [*START, "away", "long", "unsubscribe"],
    [*START, "wait", "INVALID_REQUEST"],
    [*START, "wait", "other", "away", "long"],
    [*START, "wait", "other", "wait", "INVALID_REQUEST"],
    [*START, "wait", "other", "unsubscribe"],
    [*START, "unsubscribe", "beat", "subscribe"],
    [*START, "wait", "NOT_COORDINATOR", "unsubscribe"],
    [*START, "wait", "other", "wait", "target", "commit", "beat"],
    # The heartbeat that acknowledges waits for the answer to the one before.
    [*START, "wait", "other", "wait", "commit", "target", "commit", "beat"],
    [*START, "wait", "other", "wait", "commit", "FENCED_MEMBER_EPOCH"],
    [*START, "wait", "other", "wait", "commit", "INVALID_REQUEST"],
    [*START, "wait", "other", "wait", "commit", "unsubscribe"],
    [*START, "wait", "other", "wait", "commit", "away", "long"],
)


def test_every_edge_is_taken() -> None:
    taken = set().union(*map(walked, SCRIPTS))
    edges = {(edge.before, edge.event, edge.after) for edge in CONSUMER_PROTOCOL.edges}
    assert taken <= edges
    # A step that leads back to its state is not told.
    assert {edge for edge in edges - taken if edge[0] != edge[2]} == BY_HAND


BY_HAND = {("PREPARE_LEAVING", "fenced", "UNSUBSCRIBED"), ("PREPARE_LEAVING", "refused", "FATAL")}
"""Only where the user's own listener takes its time while the member leaves: see the tests of `by_hand`."""


@given(words=st.lists(st.sampled_from(WORDS), max_size=25), begun=st.booleans())
def test_no_sequence_of_events_leads_beside_the_graph(words: list[str], begun: bool) -> None:
    edges = {(edge.before, edge.event, edge.after) for edge in CONSUMER_PROTOCOL.edges}
    assert walked([*START, *words] if begun else words) <= edges


def test_the_script_to_a_stable_member_gets_there() -> None:
    member = ScriptedMember()
    for word in START:
        perform(member, word)
    assert member.member_state == STABLE
