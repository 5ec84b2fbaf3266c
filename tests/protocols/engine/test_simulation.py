"""What the engine promises to nodes and to scenarios: order, timers, choices, causes, repeatability."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.links import Latency
from protocols.engine.nodes import Outbox
from protocols.engine.randomness import Choices
from protocols.engine.simulation import CALL, CLOCK, CONNECTED, TIMER, Simulation
from tests.protocols.engine.probes import Probe, Trace, Word

ROOT = Path(__file__).parent.parent.parent.parent
FIXED = Latency(2.0, 2.0)


STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.integers(-1, 6)), max_size=30)


@given(STEPS)
def test_timers_are_those_of_a_plain_list(steps: list[tuple[int, str, int]]) -> None:
    """After so much time, the timer is set so much later; -1: it is cancelled."""
    simulation = Simulation()
    probe = Probe()
    simulation.start("node", probe)
    plain: dict[str, tuple[float, int]] = {}
    fired = []
    now = 0.0
    for number, (wait, name, later) in enumerate([*steps, (10, "a", -1)]):
        now += wait
        simulation.run(now)
        due = sorted((timer, key) for key, timer in plain.items() if timer[0] <= now)
        fired += [(at, "timeout", key) for (at, _), key in due]
        for _, key in due:
            del plain[key]
        if later >= 0:
            simulation.processes["node"].set_timer(name, now + later)
            plain[name] = now + later, number
        else:
            simulation.processes["node"].cancel_timer(name)
            plain.pop(name, None)
    assert probe.log[1:] == fired


def test_a_timer_that_is_moved_on_and_on_costs_one_entry_of_the_heap() -> None:
    simulation = Simulation()
    simulation.start("a", Probe())
    for at in range(1000):
        simulation.processes["a"].set_timer("session", at + 10)
        simulation.run(at)
        simulation.processes["a"].cancel_timer("session")
    assert len(simulation.heap) == 1


def test_time_goes_forward_only() -> None:
    simulation = Simulation()
    simulation.start("a", Probe())
    simulation.run(10)
    with pytest.raises(ValueError, match="timer 'x' of a set to 9 ms, now is 10 ms"):
        simulation.processes["a"].set_timer("x", 9)
    with pytest.raises(ValueError, match="a call at 9 ms is too late"):
        simulation.at(9, lambda: None)
    with pytest.raises(ValueError, match="time cannot go back to 9 ms"):
        simulation.run(9)


def test_two_processes_of_one_name_cannot_run() -> None:
    simulation = Simulation()
    simulation.start("a", Probe())
    with pytest.raises(ValueError, match="process 'a' runs already"):
        simulation.start("a", Probe())
    simulation.end("a")
    simulation.start("a", Probe())
    assert simulation.is_running("a")


def test_choices_and_ids_depend_on_nothing_but_seed_node_label_and_count() -> None:
    def drawn(seed: int, others: bool) -> list[Any]:
        simulation = Simulation(seed=seed)
        for name in ("a", "b"):
            simulation.start(name, Probe())
        one, other = simulation.processes["a"], simulation.processes["b"]
        found: list[Any] = []
        for _ in range(20):
            found += [one.choose("which", range(100)), one.new_id("member")]
            if others:
                other.choose("which", range(100))
                one.choose("another", range(100))
                other.new_id("member")
        return found

    assert drawn(1, others=False) == drawn(1, others=True) != drawn(2, others=True)
    assert len(set(drawn(1, others=False))) > 35
    assert drawn(1, others=False)[1].startswith("member-")


def test_a_choice_depends_on_its_number_alone_and_all_options_have_their_turn() -> None:
    choices = Choices(5, "choose", "c1")
    first = [choices.next(5) for _ in range(5000)]
    assert [Choices(5, "choose", "c1", made=number).next(5) for number in range(100)] == first[:100]
    assert [Choices(5, "choose", "c2", made=number).next(5) for number in range(100)] != first[:100]
    assert all(900 < first.count(each) < 1100 for each in range(5))
    assert choices.ahead().next(5) == choices.next(5)


def test_every_effect_tells_its_cause_and_what_began_it() -> None:
    trace = Trace()
    simulation = Simulation(latency=FIXED, observer=trace, tracing=True)

    def react(event: str, what: Any, out: Outbox) -> None:
        if event == "start":
            out.set_timer("tick", 10)
        elif event == "timeout" and simulation.now < 30:
            out.set_timer("tick", simulation.now + 10)
            out.send("b", Word("hello"))

    call = simulation.at(0, partial(simulation.start, "a", Probe(react)), "a starts")
    simulation.start("b", Probe(lambda event, what, out: out.observe(Word(event)) if event == "a" else None))
    simulation.run(100)
    causes = {told[1]: told[6] for told in trace.told if told[0] == "created"}
    causes |= {told[6]: told[7] for told in trace.told if told[0] == "sent"}
    (first, second) = [told for told in trace.told if told[0] == "fact"]
    assert first[1:5] == (12, "b", Word("a"), call)
    chain = [first[5]]
    while chain[-1]:
        chain.append(causes[chain[-1]])
    kinds = {told[1]: told[3] for told in trace.told if told[0] == "created"}
    assert [kinds.get(number) for number in chain] == [None, TIMER, CALL, None]
    assert chain[2] == call
    assert second[4] == CLOCK, "a timer that sets itself again is the clock's doing"
    assert {told[3] for told in trace.told if told[0] == "created"} == {TIMER, CONNECTED, CALL}
    numbers = [told[1] if told[0] == "created" else told[6] for told in trace.told if told[0] != "fact"]
    assert numbers == sorted(set(numbers))


STORY = """
import json
from tests.protocols.engine.test_simulation import told_of_a_story
print(json.dumps(told_of_a_story(7)))
"""


def told_of_a_story(seed: int) -> list[Any]:
    """Everything told by a run with talk, a crash, a hang and a restart."""

    def talk(event: str, what: Any, out: Outbox) -> None:
        if event == "timeout":
            out.set_timer("tick", simulation.now + 7)
            for peer in names:
                out.send(peer, Word(f"at {simulation.now}"))
        elif event == "start":
            out.set_timer("tick", simulation.now + 5)
        elif event in names and what.startswith("at"):
            out.send(event, Word("answer"))
            out.observe(Word(out.new_id("fact")))

    names = [f"n{number}" for number in range(5)]
    trace = Trace()
    simulation = Simulation(seed=seed, observer=trace, tracing=True)
    for name in names:
        simulation.start(name, Probe(talk))
    simulation.at(50, partial(simulation.end, "n1"))
    simulation.at(60, partial(simulation.hang, "n2"))
    simulation.at(70, partial(simulation.start, "n1", Probe(talk)))
    simulation.at(90, partial(simulation.wake, "n2"))
    simulation.run(200)
    return trace.told


def test_equal_seeds_give_equal_traces_under_any_hash_seed() -> None:
    here = json.dumps(told_of_a_story(7))
    assert here != json.dumps(told_of_a_story(8))
    for hash_seed in ("0", "1"):
        ran = subprocess.run(
            [sys.executable, "-c", STORY],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.strip() == here
