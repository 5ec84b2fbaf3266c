"""An ordered consumer renews its locks by two services, each with a thread of its own, as a recorded one does."""

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from protocols.facts import Owns
from rocketmq_selfbalance.client.commands import Shutdown
from rocketmq_selfbalance.client.settings import OF_VERSION
from rocketmq_selfbalance.messages.requests import LockBatchMq, LockBatchMqAnswer
from tests.rocketmq_selfbalance.client.client_cluster import Cluster
from tests.rows import rows

SESSION = Path(__file__).parents[2] / "captures" / "rocketmq" / "wire" / "push_orderly.jsonl"
LOCK_BATCH_MQ = 41
SOON_MS = 100.0


class Asked(NamedTuple):
    """A request for locks: when it was sent and answered, its broker, how many queues it names."""

    at: float
    answered: float
    broker: str
    queues: int


def recorded() -> list[Asked]:
    """Those of a real client 5.3.3 with two queues at each of two brokers."""
    frames = [json.loads(line) for line in SESSION.read_text(encoding="utf-8").splitlines()]
    answered = {(each["conn"], each["opaque"]): each["t_ms"] for each in frames if each.get("kind") == "response"}
    return [
        Asked(each["t_ms"], answered[each["conn"], each["opaque"]], each["server"], each["body"].count("queueId"))
        for each in frames
        if each.get("kind") == "request" and each["code"] == LOCK_BATCH_MQ
    ]


def modelled(settings: Mapping[str, Any], seconds: float = 30) -> list[Asked]:
    """Those of our client in the same place."""
    cluster = Cluster({"T": 2}, latency=2.0)
    cluster.start("c1", orderly=True, **settings)
    cluster.run(seconds * 1000)
    sent = cluster.watched.sent_messages
    answers = {message.correlation: now for now, _, _, message in sent if isinstance(message, LockBatchMqAnswer)}
    return [
        Asked(now, answers[message.correlation], to, len(message.queues))
        for now, _, to, message in sent
        if isinstance(message, LockBatchMq)
    ]


def renewals(asked: Iterable[Asked]) -> dict[str, list[Asked]]:
    """Broker to the requests of the first round that names all queues there (a pass asks for one at a time)."""
    found: dict[str, list[Asked]] = {}
    for each in asked:
        if each.queues > 1:
            of = found.setdefault(each.broker, [])
            if not of or each.at - of[0].at < SOON_MS:
                of.append(each)
    return found


def overlap(asked: Iterable[Asked]) -> bool:
    """Whether one was sent while another waited for its answer."""
    ordered = sorted(asked)
    return any(later.at < each.answered for each, later in pairwise(ordered))


def test_each_broker_is_asked_twice_at_once_as_by_a_real_client() -> None:
    real, model = renewals(recorded()), renewals(modelled({}))
    assert {broker: len(asked) for broker, asked in real.items()} == {"broker-a": 2, "broker-b": 2}
    assert {broker: len(asked) for broker, asked in model.items()} == {"broker-a": 2, "broker-b": 2}
    for rounds in (real, model):
        assert overlap(each for asked in rounds.values() for each in asked)
        # Each of the two visits the brokers one after the other.
        first, second = ([asked[number] for asked in rounds.values()] for number in (0, 1))
        assert not overlap(first)
        assert not overlap(second)


def test_a_release_without_the_service_for_pop_asks_once() -> None:
    asked = modelled(OF_VERSION["4.5"])
    assert {broker: len(each) for broker, each in renewals(asked).items()} == {"broker-a": 1, "broker-b": 1}


@rows(("settings", "least", "most"), [({}, 58_000.0, 61_500.0), (OF_VERSION["4.5"], 0.0, 25_000.0)])
def test_a_round_of_the_service_for_pop_during_a_shutdown_leaves_the_queues_locked(
    settings: Mapping[str, Any], least: float, most: float
) -> None:
    cluster = Cluster({"T": 2})
    began = cluster.simulation.now
    for member in ("c1", "c2"):
        cluster.start(member, orderly=True, **settings)
    cluster.run(30_000)
    given_up = set(cluster.owns("c1"))
    assert given_up
    cluster.simulation.run(began + 41_000.0 - 5.0)
    cluster.command("c1", Shutdown())
    left = cluster.simulation.now
    cluster.run(80_000)
    taken = [now for now, fact in cluster.facts(Owns, "c2") if given_up <= set(fact.queues)]
    assert least <= taken[0] - left <= most
