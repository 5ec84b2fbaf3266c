"""Pictures show what the simulation did, in its order."""

import re
from xml.etree import ElementTree

import pytest

from compare.lessons.runs import run
from compare.running.run_variant import RunResult
from compare.showing.pictures import messages
from protocols.facts import Callback, Owns
from protocols.scenario.reading import scenario
from protocols.timeline.trace import Sent

JOIN = ("JoinGroup", "JoinGroupAnswer", "SyncGroup", "SyncGroupAnswer")
SVG = "{http://www.w3.org/2000/svg}"


def joined(system: str, seed: int, *events: dict[str, object]) -> RunResult:
    day = scenario(
        name="a third member joins",
        topics={"orders": 6},
        group={"name": "billing", "members": {"c1": ["orders"], "c2": ["orders"]}},
        run={"for": "60s", "seed": seed},
        events=[{"at": "30s", "join": "c3", "subscribe": ["orders"]}, *events],
    )
    return run(day, system, tracing=True)


@pytest.mark.parametrize("system", ["kafka:range", "kafka:cooperative-sticky", "rocketmq:AVG"])
def test_no_effect_stands_above_its_cause(system: str) -> None:
    """A message stands below the one that its sender was handling, a fact below the one that its node was."""
    lived = joined(system, 1)
    timeline = lived.timeline
    place = {each.number: at for at, each in enumerate(timeline.sent_and_told) if isinstance(each, Sent)}
    for at, each in enumerate(timeline.sent_and_told):
        if each.cause in place:
            assert place[each.cause] < at
    times = [each.at if isinstance(each, Sent) else each.now for each in timeline.sent_and_told]
    assert times == sorted(times)
    assert [each for each in timeline.sent_and_told if not isinstance(each, Sent)] == list(timeline.facts)


def test_the_rows_of_the_drawing_are_the_lines_in_words() -> None:
    picture = messages(joined("kafka:range", 1), 30, 40, JOIN, facts=(Callback, Owns))
    texts = [each for each in ElementTree.fromstring(picture.svg).iter(f"{SVG}text") if each.get("x") == "6"]
    assert [float(each.get("y", "0")) for each in texts] == sorted(float(each.get("y", "0")) for each in texts)
    for line, when in zip(picture.words.splitlines()[1:], texts, strict=True):
        assert when.text is not None
        assert line.startswith(f"{when.text} ")


def test_a_message_has_the_times_of_sending_and_arrival_and_a_lost_one_says_so() -> None:
    fault = {"at": "35s", "network": "loss", "between": ["c3", "broker-a"], "loss": 1, "for": "9s"}
    lived = joined("kafka:range", 1, fault)
    words = messages(lived, 30, 45, ("JoinGroup", "Heartbeat"), facts=()).words.splitlines()
    assert re.fullmatch(r"30\.008s to 30\.011s c3 -> broker-a: JoinGroup", words[1])
    lost = [line for line in words if line.endswith("c3 -> broker-a: Heartbeat (lost)")]
    assert lost
    assert not any(" to " in line for line in lost)


def test_fields_of_messages_stand_behind_their_types_where_they_have_them() -> None:
    """A member joins with epoch 0, is answered with the group's, and acknowledges with it."""
    kinds = ("ConsumerGroupHeartbeat", "ConsumerGroupHeartbeatAnswer", "OffsetCommit")
    words = messages(joined("kafka:uniform", 1), 30, 34, kinds, facts=(), fields=("member_epoch",)).words.splitlines()
    own = [line.partition(" c3 ")[2] or line.partition(" -> c3: ")[2] for line in words if "c3" in line]
    assert own == [
        "-> broker-a: ConsumerGroupHeartbeat, member_epoch 0",
        "ConsumerGroupHeartbeatAnswer, member_epoch 4",
        "-> broker-a: ConsumerGroupHeartbeat, member_epoch 4",
        "ConsumerGroupHeartbeatAnswer, member_epoch 4",
    ]


def test_a_picture_of_messages_needs_a_trace() -> None:
    day = scenario(name="still", topics={"t": 1}, group={"name": "g", "members": {"c1": ["t"]}}, run={"for": "10s"})
    with pytest.raises(ValueError, match="traces"):
        messages(run(day, "kafka:range"), 0, 10, JOIN)
