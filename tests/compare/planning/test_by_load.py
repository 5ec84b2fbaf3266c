"""Plans by load: what each step gains, who is refused and why, and a plan carried out on a served group, step by step,
by real consumers that `assign()` themselves."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compare.cli import cli
from compare.optima import QueueLoad
from compare.planning.by_load import GroupLoad, gains, steps_of
from compare.planning.load_routes import reads_on, shares_by_load
from compare.planning.promises import judge
from protocols import Group
from tests.compare.observed_groups import observed, partitions
from tests.compare.planning.plans import called, planned
from tests.compare.serving.test_command import serving

RATES = (60, 50, 5, 5, 5, 5)
"""Records per second of each partition: range gives the first two to the same member."""

HOT = """
name: two hot queues
topics: {orders: 12}
group: {name: billing, members: {c1..c4: {subscribe: [orders], handle: 10ms}}}
load: {produce: 4/s, rates: {orders-0: 40/s, orders-1: 35/s, orders-2: 30/s}}
run: {for: 3min}
systems: [kafka:range, rocketmq:AVG]
"""


@pytest.mark.parametrize(("today", "steps"), [("range", 2), ("AVG", 1)])
def test_a_strategy_of_ones_own_evens_out_what_the_scenario_brings(tmp_path: Path, today: str, steps: int) -> None:
    found = planned(tmp_path, "load-aware", "--from", today, "--capacity", "100", scenario=HOT)
    assert len(found["steps"]) == steps
    gain, load = found["steps"][0]["gain"], found["load"]
    assert gain["before"]["highest"] > 1 > 0.7 > gain["after"]["highest"] >= load["highest_at_least"] * 0.6
    assert gain["moves"]
    assert load["proven"]
    assert load["cost"] == load["cost_at_least"] == 1
    assert all(step["cost"]["unsettled_runs"] == 0 for step in found["steps"])


def test_lists_go_step_by_step_from_the_busiest_on(tmp_path: Path) -> None:
    found = planned(tmp_path, "load-aware:assign", "--from", "range", scenario=HOT)
    switch, *moves = found["steps"]
    assert (switch["gain"], switch["cost"]) == (None, None)
    levels = [moves[0]["gain"]["before"]["highest"], *(step["gain"]["after"]["highest"] for step in moves)]
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] == pytest.approx(found["load"]["highest"])
    assert levels[-1] <= 0.9 < levels[0]
    assert sum(len(step["gain"]["moves"]) for step in moves) == found["load"]["cost"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["load-aware", "--from", "uniform"], "see neither rate nor lag, expected load-aware:assign"),
        (["LOAD_AWARE", "--from", "range"], "--from range, expected --from with one of rocketmq:AVG"),
        (["load-aware", "--from", "range", "--library", "librdkafka"], "takes no assignor of yours"),
        (["sticky", "--capacity", "5", "--from", "range"], "--capacity 5: what members can handle, expected --to"),
    ],
)
def test_who_cannot_is_told_why(tmp_path: Path, arguments: list[str], expected: str) -> None:
    found = called(tmp_path, "--to", *arguments, "--seeds", "1", scenario=HOT)
    assert found.exit_code != 0
    assert expected in str(found.exception)


def test_many_moves_are_put_together_and_none_is_lost() -> None:
    group = Group.of({"t": 24}, {f"c{n}": ["t"] for n in range(12)})
    today = {f"c{n}": group.queues[2 * n : 2 * n + 2] for n in range(12)}
    loads = {queue: QueueLoad(1.0 + queue.number) for queue in group.queues}
    load = GroupLoad.of(group, today, loads, "rate", None)
    steps = steps_of(load, load.best.allocation, 3)
    assert len(steps) <= 3
    assert sum(map(len, steps)) == load.best.cost
    assert list(gains(load, steps))[-1].after.highest == pytest.approx(load.best.highest)


def test_a_check_says_by_the_source_s_own_rates_whether_a_move_would_help() -> None:
    one, other = partitions("t", 0, 1), partitions("t", 2, 3)
    even = dict(zip((*one, *other), (9.0, 1.0, 5.0, 5.0), strict=True))
    uneven = dict(zip((*one, *other), (9.0, 9.0, 1.0, 1.0), strict=True))
    for rates, holds, said in (
        (even, True, "largest rate 1.00 times the mean, for which no queue has to move"),
        (uneven, False, "1 move would even out the rates"),
        ({}, None, "rates (a running cluster does"),
    ):
        shown = shares_by_load(None)(observed({"x": one, "y": other}, "load-aware", rates=rates))
        assert shown.holds is holds
        assert said in shown.text


def test_a_queue_with_lag_and_no_commit_since_is_not_read() -> None:
    queues = partitions("t", 0, 1)

    def shown(committed: tuple[int, int]) -> Any:
        ends = dict.fromkeys(queues, 100)
        lag = {queue: 100 - each for queue, each in zip(queues, committed, strict=True)}
        return observed({}, None, more_queues=queues, ends=ends, lag=lag, state="Empty")

    before = shown((10, 100))
    assert judge([reads_on(before)], shown((11, 100)), 1).holds
    assert "t-0 with lag and no commit" in judge([reads_on(before)], shown((10, 100)), 1).line
    assert "unknown" in judge([reads_on(None)], shown((11, 100)), 1).line


class Worker(Thread):
    """A consumer that subscribes, or reads the partitions of its list; it commits what it has read."""

    def __init__(self, bootstrap: str, name: str, numbers: list[int] | None = None) -> None:
        super().__init__(daemon=True)
        self.settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "billing",
            "client.id": name,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 200,
            "partition.assignment.strategy": "range",
        }
        self.numbers, self.stop = numbers, Event()
        self.owned = numbers or []

    def run(self) -> None:
        consumer = Consumer(self.settings)
        if self.numbers is None:
            consumer.subscribe(["orders"])
        else:
            consumer.assign([TopicPartition("orders", number) for number in self.numbers])
        while not self.stop.is_set():
            consumer.poll(0.05)
            self.owned = [each.partition for each in consumer.assignment()]
        consumer.close()


def start(workers: Iterable[Worker]) -> None:
    for worker in workers:
        worker.start()


def end(workers: Iterable[Worker]) -> None:
    for worker in workers:
        worker.stop.set()
    for worker in workers:
        worker.join(30)


@contextmanager
def producing(bootstrap: str, rates: Sequence[float] = RATES) -> Iterator[None]:
    stop = Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        began, written = time.monotonic(), [0] * len(rates)
        while not stop.wait(0.05):
            for number, rate in enumerate(rates):
                while written[number] < (time.monotonic() - began) * rate:
                    producer.produce("orders", b"x", partition=number)
                    written[number] += 1
            producer.poll(0)
        producer.flush(10)

    thread = Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


AS_PROMISED = (
    "step {} of group billing: as promised, as far as a source shows it: 0 members;"
    " of 6 queues each without lag, or with commits since\n"
)


def run(*arguments: str) -> tuple[int, str]:
    options = ["plan", "--group", "billing", "--rate-over", "2", *arguments]
    found = CliRunner().invoke(cli, options, standalone_mode=False)
    assert found.exception is None, found.exception
    return found.return_value, found.stdout


def planned_when_all_is_known(source: str) -> dict[str, Any]:
    """The plan once the group has settled and every partition has been read."""
    options = ("--to", "load-aware:assign", "--capacity", "90", "--seeds", "1", "--format", "json")
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = CliRunner().invoke(cli, ["plan", source, "--group", "billing", "--rate-over", "3", *options])
        if found.exit_code == 0:
            plan: dict[str, Any] = json.loads(found.stdout)
            if len(plan["steps"]) > 1:
                return plan
        time.sleep(1)
    raise AssertionError(found.output, found.exception)


def kept(bootstrap: str, path: Path) -> str:
    """What the offsets view of Kafka's tool would show just now."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("billing")])
    rows = ["GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"]
    for each in asked["billing"].result(10).topic_partitions or []:
        rows.append(f"billing orders {each.partition} {each.offset} {each.offset} 0 - - -")
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def test_a_served_group_goes_to_lists_as_the_plan_says(tmp_path: Path) -> None:
    options = ("kafka", "--port", "0", "--topic", f"orders:{len(RATES)}", "--initial-delay", "1s")
    with serving(*options) as (_, line):
        go_to_lists(line.split()[-1], tmp_path)


def go_to_lists(bootstrap: str, folder: Path) -> None:
    """Plan, carry the plan out with consumers in threads, and let each step be checked, before it is done, too."""
    with producing(bootstrap):
        workers = {f"w{number}": Worker(bootstrap, f"w{number}") for number in range(3)}
        start(workers.values())
        plan = planned_when_all_is_known(f"kafka://{bootstrap}")
        gain = plan["steps"][1]["gain"]
        ((_, _, number, old, new),) = gain["moves"]
        assert number in (0, 1)
        assert gain["before"]["highest"] > 1 > gain["after"]["highest"]
        lists = {name: worker.owned for name, worker in workers.items()}

        def check(step: int) -> tuple[int, str]:
            told = ("--to", "load-aware:assign", "--from", "range", "--before", before, f"kafka://{bootstrap}")
            return run("--check", str(step), *told)

        before = kept(bootstrap, folder / "first.txt")
        assert check(1)[0] == 1, "its members are there still"
        end(workers.values())
        workers = {name: Worker(bootstrap, name, numbers) for name, numbers in lists.items()}
        start(workers.values())
        time.sleep(2)
        assert check(1) == (0, AS_PROMISED.format(1))
        end([workers[old]])
        before = kept(bootstrap, folder / "second.txt")
        workers[old] = Worker(bootstrap, old, [each for each in lists[old] if each != number])
        start([workers[old]])
        time.sleep(2)
        assert check(2)[0] == 1
        assert f"orders-{number} with lag and no commit since" in check(2)[1]
        end([workers[new]])
        workers[new] = Worker(bootstrap, new, [*lists[new], number])
        start([workers[new]])
        time.sleep(2)
        assert check(2) == (0, AS_PROMISED.format(2))
        end(workers.values())
