"""One node, called by hand."""

import pytest

from protocols.engine.single import Closed, Sent, SingleNode, Told
from tests.protocols.engine.probes import Probe, Word


def test_timers_fire_at_their_due_time_in_order_of_creation() -> None:
    world = SingleNode(Probe())
    world.start()
    for name, at in (("moved", 5.0), ("second", 10.0), ("later", 20.0), ("never", 7.0), ("moved", 10.0)):
        world.set_timer(name, at)
    world.cancel_timer("never")
    world.advance(15)
    assert world.node.log[1:] == [(10, "timeout", "second"), (10, "timeout", "moved")]
    assert world.now == 15
    assert {name: timer.due for name, timer in world.timers.items()} == {"later": 20}


def test_what_is_due_comes_before_what_is_given_at_that_time() -> None:
    world = SingleNode(Probe(lambda event, what, out: out.set_timer("now", 10) if what == "hello" else None))
    world.start(1.0)
    world.set_timer("due", 10)
    world.receive(10, "a", Word("hello"))
    assert world.node.events == [("timeout", "due"), ("a", "hello")]
    world.advance(10)
    assert world.node.events[-1] == ("timeout", "now")
    world.command(11, Word("stop"))
    world.connected(12, "a")
    world.closed(13, "a")
    assert world.node.log[-3:] == [(11, "operator", "stop"), (12, "connected", "a"), (13, "closed", "a")]


def test_timers_fire_one_by_one_if_asked() -> None:
    world = SingleNode(Probe())
    world.set_timer("x", 3)
    world.set_timer("y", 9)
    assert world.fire_next(5)
    assert world.now == 3
    assert not world.fire_next(5)
    assert world.now == 3


def test_all_that_the_node_does_is_kept() -> None:
    world = SingleNode(Probe())
    world.send("a", Word("x"))
    world.advance(5)
    world.close("a")
    world.observe(Word("done"))
    assert world.closes == [Closed(5, "a")]
    assert world.take_sent() == [Sent(0, "a", Word("x"))]
    assert world.take_facts() == [Told(5, Word("done"))]
    assert world.sent == world.facts == []


def test_choices_and_ids_are_the_callers() -> None:
    plain = SingleNode(Probe())
    assert plain.choose("which", "xyz") == "x"
    assert [plain.new_id("m"), plain.new_id("n")] == ["m-1", "n-2"]
    recorded = SingleNode(Probe(), choose=lambda label, options: options[-1], new_id=lambda prefix: f"{prefix}-real")
    assert recorded.choose("which", "xyz") == "z"
    assert recorded.new_id("m") == "m-real"


def test_time_goes_forward_only() -> None:
    world = SingleNode(Probe(), now=10.0)
    with pytest.raises(ValueError, match="timer 'x' set to 9 ms, now is 10"):
        world.set_timer("x", 9)
    with pytest.raises(ValueError, match="time cannot go back to 9 ms"):
        world.advance(9)
