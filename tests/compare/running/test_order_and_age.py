"""Order and age of records in whole runs: arithmetic that anybody can do beside what is told."""

from collections.abc import Mapping
from typing import Any

import pytest

from compare.running.ages import Ages
from compare.running.production import ProductionHistory, keys_of, productions
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.systems import scenario
from compare.running.variants import Variant, variants_of
from protocols import Queue
from protocols.errors import UserError
from protocols.load import Production
from protocols.scenario.keys import BY_HASH_CODE, BY_MURMUR2, keyed_queues
from protocols.scenario.rates import Rates
from protocols.timeline.order import KeyOf
from tests.compare.compared import made as four_members
from tests.compare.compared import ran
from tests.compare.running.stories import told

ORDERLY = {"system": "rocketmq:AVG", "label": "orderly", "settings": {"orderly": True}}


def made(**more: Any) -> Any:
    given: dict[str, Any] = {
        "name": "one queue",
        "topics": {"orders": 1},
        "group": {"name": "g", "members": {"c1": {"subscribe": ["orders"], "handle": "20ms"}}},
        "load": {"produce": "10/s"},
        "run": {"for": "60s", "seed": 1, "latency": "2ms"},
        "systems": ["kafka:range", "rocketmq:AVG", ORDERLY],
        "threads": 20,
    }
    return scenario({**given, **more})


def drawn_keys(variant: Variant) -> KeyOf:
    result = run_variant(variant)
    keys = keys_of(result, productions(result))
    assert keys is not None
    return keys.of


def records(of: Any) -> dict[str, Mapping[str, Any]]:
    return {each.label: run_record(run_variant(each)) for each in variants_of(of)}


def test_who_starts_sooner_is_not_best_in_the_age_of_records() -> None:
    systems = ["kafka:range", "kafka:uniform", "rocketmq:AVG"]
    document = ran(four_members(systems=systems, events=[], run={"for": "3min"}), seeds=[1, 2, 3])[1]
    starts = [of["figures"]["record_age_ms.p99"]["median"] for of in document["seeds"].values()]
    rests = [of["figures"]["record_age_ms.settled_p99"]["median"] for of in document["seeds"].values()]
    assert starts[0] > 2 * starts[1] > 4 * starts[2], "Kafka's group begins after 3 s, the consumer protocol's after 1"
    assert all(age < 10 for age in rests), "on their way, once there and back, for 1 to 5 ms"
    assert "age" not in document["headline"], document["headline"]


def test_what_comes_after_the_start_counts_whenever_it_is_handled() -> None:
    burst = [{"at": "40s", "produce": {"orders": 1000}}]
    for label, found in records(made(events=burst, threads=1)).items():
        # 1,000 records at once are handled in 20 s, up to the end of the run: more than 1 in 100 of all.
        assert 19_500 < found["record_age_ms"]["settled_p99"] < found["record_age_ms"]["max"] < 20_500, label


@pytest.mark.parametrize(("threads", "p50", "p99"), [(1, 62, 102), (2, 42, 62), (20, 22, 22)])
@pytest.mark.parametrize("system", ["kafka:range", "kafka:uniform", "rocketmq:AVG"])
def test_records_that_come_together_wait_for_a_free_thread(system: str, threads: int, p50: float, p99: float) -> None:
    # A record of each of five queues comes at a time: with one thread they end 20, 40, ... 100 ms after they have come.
    longer = {"for": "10min", "seed": 1, "latency": "2ms"}
    of = made(topics={"orders": 5}, load={"produce": "5/s"}, run=longer, systems=[system], threads=threads)
    (variant,) = variants_of(of)
    for full in (False, True):
        found = run_record(run_variant(variant, full=full))["record_age_ms"]
        assert (found["p50"], found["p99"]) == pytest.approx((p50, p99), abs=0.5)


def test_records_that_wait_count_with_the_age_that_they_have_by_then() -> None:
    # 100/s come and 50/s are handled: half of 5 minutes' records wait at the end, the oldest for 150 s.
    longer = {"for": "5min", "seed": 1, "latency": "2ms"}
    of = made(load={"produce": "100/s"}, threads=1, run=longer, systems=["kafka:range", "rocketmq:AVG"])
    for label, found in records(of).items():
        # The record of the second t is handled after 2 t and so t old; of the later half those of the second 300 - a
        # are a old: each age up to 150 s comes twice.
        age = found["record_age_ms"]
        assert age["max"] == pytest.approx(150_000, abs=3_000), label
        assert age["p50"] == pytest.approx(75_000, abs=3_000), label
        assert age["p99"] == pytest.approx(148_500, abs=3_000), label
        assert age["at_least"] == ["p50", "p99", "max", "settled_p99"], label
        assert found["handled_per_s"] == pytest.approx(50, abs=1), label
    none = records(made(systems=["kafka:range"]))["kafka:range"]["record_age_ms"]
    assert none["at_least"] == []


def test_records_wait_for_the_next_members_of_a_group_that_all_have_left() -> None:
    of = made(events=[{"at": "20s", "leave": "c1"}], systems=["kafka:range", "kafka:range+static", "rocketmq:AVG"])
    for label, found in records(of).items():
        # 10/s for 40 s, but for the last second.
        assert found["harm"]["work"]["waiting"] == pytest.approx(390, abs=6), label
        assert found["harm"]["no_progress_queue_s"] == pytest.approx(40, abs=1), label
        assert found["record_age_ms"]["max"] == pytest.approx(40_000, abs=1_000), label
        for harm in ("no_progress", "waiting", "unowned"):
            (why,) = found["harm"]["because"][harm]
            assert (why["event"], why["text"], why["setting"]) == (
                "c1 leaves",
                "group g has no members",
                "number of members",
            )


def test_what_is_handled_again_after_later_ones_is_out_of_order() -> None:
    found = told("join-crash-leave-commit", "kafka:range")
    assert 0 < found["out_of_order"]["queue"] <= found["redelivered"]
    assert found["out_of_order"]["key"] is None
    assert [each["kind"] for each in found["harm"]["because"]["out_of_order"]] == ["handled again later"]


def test_percentiles_are_those_of_the_single_records() -> None:
    ages, single = Ages(), []
    for age, step, count in ((5.0, 0.0, 40), (100.0, -2.0, 30), (10.0, 3.0, 25), (7.5, 0.0, 1)):
        ages.add(age, step, count)
        single += [age + step * number for number in range(count)]
    single.sort()
    assert ages.document() == {
        "p50": pytest.approx(single[47]),
        "p99": pytest.approx(single[95]),
        "max": pytest.approx(single[-1]),
        "at_least": [],
    }


def test_when_a_record_was_produced() -> None:
    history = ProductionHistory((Production(10.0),)).gets(1050.0, 5).goes_on(2000.0, 0.0).goes_on(3000.0, 20.0)
    for offset, at in ((0, 100.0), (9, 1000.0), (10, 1050.0), (14, 1050.0), (15, 1100.0), (24, 2000.0), (25, 3050.0)):
        part = [each for each in history.produced() if each.first <= offset][-1]
        assert part.at + (offset - part.first) * part.spacing == pytest.approx(at), offset
        assert history.end_offset(at) > offset >= history.end_offset(at - 1)


def test_keys_share_the_topics_records_out_and_every_record_has_one() -> None:
    of = made(topics={"orders": 4}, keys="zipf 1.2 of 50", systems=["kafka:range", "rocketmq:AVG"])
    weights = [(number + 1) ** -1.2 for number in range(50)]
    for partitioner in (BY_HASH_CODE, BY_MURMUR2):
        rates = Rates(of, partitioner).of("orders")
        assert sum(rates) == pytest.approx(40)
        assert max(rates) > 10 > min(rates)
        keyed = keyed_queues("zipf 1.2 of 50", 4, partitioner)
        assert rates == pytest.approx([40 * sum(weights[key] for key in keys) / sum(weights) for keys in keyed.keys])
        assert sorted(key for keys in keyed.keys for key in keys) == list(range(50))
    drawn = drawn_keys(variants_of(of)[0])
    hot = next(place for place, keys in enumerate(keyed.keys) if 0 in keys)
    seen = [drawn(Queue("orders", "", hot), offset) for offset in range(3000)]
    share = weights[0] / sum(weights[key] for key in keyed.keys[hot])
    assert seen.count(0) / len(seen) == pytest.approx(share, abs=0.03)
    for label, found in records(of).items():
        assert found["harm"]["work"]["written"] == pytest.approx(40 * 59, rel=0.06), label
        assert found["out_of_order"]["key"] <= found["out_of_order"]["queue"], label


def test_each_systems_own_partitioner_chooses_the_queue_of_a_key() -> None:
    # What Java 17 prints of hashCode().
    java = {"key-0": 101_943_362, "key-7": 101_943_369, "key-41": -1_134_722_901, "key-999": -816_666_453}
    assert {key: BY_HASH_CODE.choose(key, 7) for key in java} == {key: abs(code) % 7 for key, code in java.items()}
    # The list of a RocketMQ producer is sorted by brokers, whatever the order in the scenario.
    of = made(topics={"orders": {"queues": {"b2": 1, "b1": 1}}}, brokers=["b2", "b1"], keys="zipf 9 of 2")
    of_b2, of_b1 = Rates(of, BY_HASH_CODE).of("orders")
    assert BY_HASH_CODE.choose("key-0", 2) == 0
    assert of_b1 > 15 > of_b2
    drawn = drawn_keys(variants_of(of)[1])
    assert (drawn(Queue("orders", "b2", 0), 0), drawn(Queue("orders", "b1", 0), 0)) == (1, 0)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("zipf", "no spread of keys, expected one such as zipf 1.2"),
        ({"other": 5}, "unknown topic 'other'"),
        (0, "expected 1 to 1,000,000 keys"),
    ],
)
def test_keys_that_cannot_be_are_refused(keys: Any, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        made(keys=keys)


@pytest.mark.parametrize("behind", [False, True])
def test_keys_that_go_to_new_queues_lose_their_order_where_earlier_records_wait(behind: bool) -> None:
    # 4 queues x 10/s wait while the first member is busy; what its keys bring to the new queues another one handles.
    clients = {"c1": {"subscribe": ["orders"], "handle": "5ms"}, "c2": {"subscribe": ["orders"], "handle": "5ms"}}
    stops = [{"at": "40s", "stop_polling": "c1", "for": "30s"}] if behind else []
    of = made(
        topics={"orders": 4},
        group={"name": "g", "members": clients},
        keys=50,
        events=[*stops, {"at": "41s", "queues": {"orders": 8}}],
        run={"for": "120s", "seed": 1, "latency": "2ms"},
        systems=["kafka:server-range", "rocketmq:AVG"],
        threads=1,
        expect={"in_order": True},
    )
    for label, found in records(of).items():
        # 40/s for 41 s and 80/s for 79 s, of which those that come before the group began count for nobody.
        assert found["harm"]["work"]["written"] == pytest.approx(7960, abs=45), label
        assert found["out_of_order"]["queue"] == 0, label
        if behind:
            (reason, *_) = found["harm"]["because"]["out_of_order"]
            assert (reason["kind"], reason["records"]) == ("keys moved", found["out_of_order"]["key"]), label
            assert reason["event"] == "orders has 8 queues"
            assert found["harm"]["because"]["in_order"] == found["harm"]["because"]["out_of_order"]
        else:
            assert found["out_of_order"]["key"] == 0


def test_ordered_sends_go_elsewhere_when_the_producer_learns_that_a_broker_is_gone() -> None:
    of = made(
        brokers=["b1", "b2"],
        topics={"orders": {"queues": {"b1": 2, "b2": 1}}},
        keys=20,
        events=[{"at": "35s", "broker": "b1", "does": "kill", "for": "40s"}],
        run={"for": "150s", "seed": 1, "latency": "2ms"},
        systems=["rocketmq:AVG"],
    )
    (variant,) = variants_of(of)
    result = run_variant(variant)
    keys = keys_of(result, productions(result))
    assert keys is not None
    gone, back = keys.moves["orders"]
    # Polls at 0.01 s and every 30 s.
    assert (gone.at, back.at) == (60_010.0, 90_010.0)
    b2 = Queue("orders", "b2", 0)
    during = {keys.of(b2, offset) for offset in range(gone.first[b2], back.first[b2])}
    at_its_time = {number for number in range(20) if BY_HASH_CODE.choose(f"key-{number}", 3) == 2}
    assert during == set(range(20))
    assert {keys.of(b2, offset) for offset in range(gone.first[b2])} == at_its_time
    assert {keys.of(b2, back.first[b2] + number) for number in range(300)} == at_its_time


def test_the_example_loses_its_order_to_twenty_threads_alone() -> None:
    labels = ("kafka:range", "kafka:cooperative-sticky", "orderly", "concurrent, 1 thread", "concurrent, 20 threads")
    checks = {label: told("in-order", label)["checks"][0] for label in labels}
    assert [label for label, check in checks.items() if not check["held"]] == ["concurrent, 20 threads"]
    assert all(check["name"] == "in_order" and check["demanded"] for check in checks.values())
    (why,) = told("in-order", "concurrent, 20 threads")["harm"]["because"]["out_of_order"]
    assert why["kind"] == "several threads"
    assert checks["concurrent, 20 threads"]["why"] == "57 records out of the order of their key, expected none"
