"""What finds each bug: hypothesis chooses the moment of a crash, a join or a pause, the assertion tells the story."""

from contextlib import suppress

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from shop import (
    async_commit_without_retry,
    batch_write_then_commit,
    commit_before_handling,
    commit_in_on_lost,
    seek_in_the_wrong_callback,
    slow_handler,
    state_kept_over_revocation,
    work_queue_with_auto_commit,
)

from compare.testing import kafka_group

CALLS = st.integers(1, 60)
"""After so many calls of the program its process is killed."""
MOMENTS = st.integers(10, 50).map(lambda second: second + 0.5)
"""When something happens, in seconds of virtual time."""


def bounded(version: str) -> settings:
    """The bug is found within 20 examples; the mended version survives 50."""
    examples = 20 if version == "buggy" else 50
    phases = [Phase.generate, Phase.shrink]
    return settings(max_examples=examples, phases=phases, deadline=None, derandomize=True, database=None)


def test_commit_before_handling(version: str) -> None:
    @bounded(version)
    @given(CALLS)
    def trial(calls: int) -> None:
        program = getattr(commit_before_handling, version)
        group = kafka_group(topics={"orders": 4}, members=["other"]).settle()
        group.interrupt(lambda: group.crash("mine"), after_calls=calls)
        consumer = group.consumer("mine", commit_before_handling.CONFIG)
        group.run(lambda: program(consumer, group.watch(lambda message: None)), seconds=60)
        group.settle()
        group.assert_nothing_lost()

    trial()


def test_state_kept_over_revocation(version: str) -> None:
    @bounded(version)
    @given(MOMENTS)
    def trial(moment: float) -> None:
        program = getattr(state_kept_over_revocation, version)
        group = kafka_group(topics={"orders": 4}, name="shop", produce=0.5)
        group.clock.at(moment, lambda: group.join("other"))
        consumer = group.consumer("mine", state_kept_over_revocation.CONFIG)
        group.run(lambda: program(consumer, group.watch(lambda message: None)), seconds=90)
        group.settle()
        group.assert_handled_once()

    trial()


def test_batch_write_then_commit(version: str) -> None:
    @bounded(version)
    @given(CALLS)
    def trial(calls: int) -> None:
        program = getattr(batch_write_then_commit, version)
        group = kafka_group(topics={"orders": 2}, name="shop", produce=0.5)
        group.interrupt(lambda: group.crash("first"), before_call=calls)
        table = batch_write_then_commit.Table()
        table.insert = group.watch(table.insert)  # type: ignore[method-assign]
        for member in ("first", "second"):
            consumer = group.consumer(member, batch_write_then_commit.CONFIG)
            group.run(lambda consumer=consumer: program(consumer, table), seconds=60)
        group.assert_handled_once()

    trial()


def test_slow_handler(version: str) -> None:
    @bounded(version)
    @given(st.integers(0, 90), st.integers(4, 6))
    def trial(seconds: int, offset: int) -> None:
        program = getattr(slow_handler, version)
        group = kafka_group(topics={"orders": 2}, members=["other"], name="shop", produce=0.2).settle()
        consumer = group.consumer("mine", slow_handler.CONFIG)
        lasts = {offset: seconds}
        with group.virtual_time():
            group.run(
                lambda: program(
                    consumer, group.watch(lambda message: None), lambda message: lasts.pop(message.offset(), 0)
                ),
                seconds=160,
            )
        group.settle()
        group.assert_handled_once()

    trial()


def test_work_queue_with_auto_commit(version: str) -> None:
    @bounded(version)
    @given(CALLS)
    def trial(calls: int) -> None:
        program = getattr(work_queue_with_auto_commit, version)
        config = getattr(work_queue_with_auto_commit, f"{version.upper()}_CONFIG")
        group = kafka_group(topics={"orders": 4}, members=["other"], name="shop").settle()
        group.interrupt(lambda: group.crash("mine"), after_calls=calls)
        consumer = group.consumer("mine", config)
        group.run(lambda: program(consumer, group.watch(lambda message: None)), seconds=60)
        group.settle()
        group.assert_nothing_lost()

    trial()


def test_seek_in_the_wrong_callback(version: str) -> None:
    @bounded(version)
    @given(CALLS)
    def trial(calls: int) -> None:
        program = getattr(seek_in_the_wrong_callback, version)
        group = kafka_group(topics={"orders": 2}, name="shop", produce=0.5)
        group.interrupt(lambda: group.crash("first"), after_calls=calls)
        offsets: dict[int, int] = {}
        for member in ("first", "second"):
            consumer = group.consumer(member, seek_in_the_wrong_callback.CONFIG)
            count = group.watch(lambda message: None)
            group.run(lambda consumer=consumer, count=count: program(consumer, count, offsets), seconds=60)
        group.assert_handled_once()

    trial()


def test_commit_in_on_lost(version: str) -> None:
    @bounded(version)
    @given(st.integers(22, 39), st.integers(1, 120))
    def trial(moment: int, pause: int) -> None:
        program = getattr(commit_in_on_lost, version)
        group = kafka_group(topics={"orders": 1}, name="shop", produce=0.25)
        group.clock.at(moment, lambda: group.stop_polling("mine", seconds=pause))
        group.clock.at(moment, lambda: group.join("other"))
        consumer = group.consumer("mine", commit_in_on_lost.CONFIG)
        group.run(lambda: program(consumer, group.watch(lambda message: None)), seconds=150)
        group.settle()
        group.assert_handled_once()

    trial()


def test_async_commit_without_retry(version: str) -> None:
    @bounded(version)
    @given(CALLS)
    def trial(calls: int) -> None:
        program = getattr(async_commit_without_retry, version)
        group = kafka_group(topics={"orders": 2}, name="shop")
        group.interrupt(SystemExit, before_call=calls)  # what a handler of SIGTERM raises
        consumer = group.consumer("mine", async_commit_without_retry.CONFIG)
        with suppress(SystemExit):
            group.run(lambda: program(consumer, group.watch(lambda message: None)), seconds=60)
        group.join("other").settle()
        group.assert_handled_once()

    trial()
