"""The replay that a failure prints, pasted as a test: it drives the user's own code and fails in the same way."""

import re
from collections.abc import Mapping

import pytest

pytest_plugins = ["pytester"]

LOOPS = """
    from hypothesis import Phase, given, settings
    from hypothesis import strategies as st
    from compare.testing import kafka_group as new_group
    from compare.testing.strategies import faults

    CONFIG = {"auto.offset.reset": "earliest", "enable.auto.commit": False}

    class Service:
        def __init__(self, consumer, handle):
            self.consumer, self.handle = consumer, handle

        def run(self):
            self.consumer.subscribe(["orders"])
            try:
                while True:
                    message = self.consumer.poll(1.0)
                    if message is not None and not message.error():
                        self.consumer.commit(message, asynchronous=False)
                        self.handle(message)
            finally:
                self.consumer.close()

    def loop(consumer, handle):
        consumer.subscribe(["orders"])
        while True:
            message = consumer.poll(1.0)
            if message is not None and not message.error():
                handle(message)
                consumer.commit(message, asynchronous=False)
"""

OBJECT = """
    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    @given(st.integers(1, 60), faults(["c2"], kinds=["hang", "join"], most=2))
    def test_it(calls, schedule):
        group = new_group(members=["c2"], seed=3).settle()
        group.schedule(schedule)
        group.interrupt(lambda: group.crash("c1"), after_calls=calls)
        service = Service(group.consumer("c1", CONFIG), group.watch(lambda message: None))
        group.run(service.run, seconds=40)
        group.settle()
        group.assert_nothing_lost()
"""

CLOSURE = """
    @settings(max_examples=30, deadline=None, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.integers(20, 60), st.integers(1, 20))
    def test_it(calls, later):
        group = new_group(topics={"orders": 6}, members={"c2": []}, assignor="sticky")
        group.clock.at(5, lambda: group.join("c3"))
        group.clock.advance(seconds=4)
        group.join("c4").settle()
        seen = []

        def handle(message):
            seen.append(message.offset())
            if len(seen) == later:
                group.hang("c3", seconds=50)

        group.interrupt(lambda: group.crash("c1"), before_call=calls)
        group.run(lambda: loop(group.consumer("c1", CONFIG), group.watch(handle)), seconds=40)
        group.settle()
        group.assert_handled_once()
"""

TWO_RUNS = """
    def test_it(kafka_group):
        group = kafka_group(topics={"orders": 1}, produce=2)
        consumer = group.consumer("c1", CONFIG)
        handle = group.watch(lambda message: message.offset() == 11 and group.crash("c1"))
        group.run(lambda: loop(consumer, handle), seconds=60)
        consumer = group.consumer("c2", CONFIG)
        group.run(lambda: loop(consumer, group.watch(lambda message: None)), seconds=60)
        group.assert_handled_once()
"""

PUSH = """
    def test_it(rocketmq_group):
        group = rocketmq_group(topics={"orders": 1})
        tries = []

        def listener(messages):
            tries.append(messages[0].queue_offset)
            if len(tries) == 20:
                raise ConnectionError

        consumer = group.push_consumer("c1", orderly=True)
        consumer.set_max_reconsume_times(0)
        consumer.subscribe("orders")
        consumer.register_message_listener(listener)
        consumer.start()
        group.clock.advance(seconds=60)
        group.assert_nothing_lost()
"""


def _replay_in(output: str) -> str:
    """The last replay in a report, without what pytest puts in front of its lines."""
    lines = output.splitlines()
    first = max(number for number, line in enumerate(lines) if "# Paste this into a test" in line)
    column = lines[first].index("#")
    text = []
    for line in lines[first:]:
        if re.match(r"[-=_]{5,}", line) or (line[column:].strip() and not re.match(r"(E\s*)?$", line[:column])):
            break
        if re.match(r"(Explanation|You can)", line[column:]):
            break
        text.append(line[column:])
    return "\n".join(text) + "\n"


def _errors(output: str) -> list[str]:
    """The story of the first failure."""
    found = re.findall(r"^E +(.*)$", output, re.MULTILINE)
    first = next(number for number, line in enumerate(found) if "AssertionError" in line or line.startswith("assert"))
    return [line for line in found[first:] if re.match(r"AssertionError: |\d+\.\d{3} s|assert|so nobody", line)]


TESTS = {"object": OBJECT, "closure": CLOSURE, "two_runs": TWO_RUNS, "push": PUSH}


def _reports(pytester: pytest.Pytester, files: Mapping[str, str]) -> Mapping[str, str]:
    """The one test of each of these files fails; name of the file to what is told of it."""
    pytester.makepyfile(**files)
    options = ("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "--tb=long")
    done = pytester.runpytest_subprocess(*options, *(f"{name}.py" for name in files))
    done.assert_outcomes(failed=len(files))
    told = re.split(
        r"^_+ test_(?:it|replay) _+$", done.stdout.str().partition("short test summary info")[0], flags=re.MULTILINE
    )
    return dict(zip(files, told[1:], strict=True))


def test_a_pasted_replay_fails_with_the_same_story(pytester: pytest.Pytester) -> None:
    told = _reports(pytester, {f"test_{name}": LOOPS + text for name, text in TESTS.items()})
    replays = {f"{name}_pasted": _replay_in(text) for name, text in told.items()}
    repeated = _reports(pytester, replays)
    for name, text in told.items():
        assert _errors(text)
        assert _errors(repeated[f"{name}_pasted"]) == _errors(text)
