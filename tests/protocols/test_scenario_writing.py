"""A scenario that is written is read as the same scenario."""

from pathlib import Path

from compare.running.systems import read, read_text, scenario
from protocols.engine.nodes import TICK
from protocols.scenario.writing import as_yaml
from tests.rows import rows

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "scenarios").glob("*.yaml"))


@rows("path", EXAMPLES)
def test_every_example_survives_being_written(path: Path) -> None:
    found = read(path)
    assert read_text(as_yaml(found)) == found


OWN = {"consumer.heartbeat.interval.ms": 9000, "consumer.session.timeout.ms": 60000}


def test_every_kind_of_event_survives_with_all_its_digits() -> None:
    at = 7 * TICK
    found = scenario(
        name="everything: once",
        brokers=["broker-a", "broker-b"],
        topics={"orders": {"queues": {"broker-a": 2, "broker-b": 1}, "replica_racks": [["a"], ["b"], ["a", "b"]]}},
        group={"name": "g", "members": {"c1": {"pattern": "ord.*", "handle": 0.5}, "c2": ["orders"]}, "settings": OWN},
        load={"produce": 0.00001},
        run={"for": "10min", "seed": 3, "latency": "1ms..2500us"},
        systems=[{"system": "kafka:range", "label": "a label", "settings": {"session.timeout.ms": 6000}}],
        events=[
            {"at": at, "join": "c3", "subscribe": ["orders"], "settings": {"session.timeout.ms": 9000}},
            {"at": 1000.0, "hang": "c3", "for": 1234567.0 * TICK},
            {"at": 2000.0, "commit": "c2", "offsets": {"orders-1": 7}, "generation": 3},
            {"at": 3000.0, "network": "loss", "between": ["c2", "broker-a"], "loss": 0.25, "for": "5s"},
            {"at": 3000.0, "network": "delay", "between": ["c2"], "delay": "50ms", "for": "5s"},
            {"at": 4000.0, "queues": {"orders": {"broker-a": 4, "broker-b": 1}}},
            {"at": 5000.0, "subscribe": {"c2": []}},
            {"at": 6000.0, "broker": "broker-b", "does": "kill"},
            {"at": 7000.0, "restart": "c2", "how": "crash", "strategy": "range,roundrobin"},
            {"at": 8000.0, "reset_offsets": "g", "topic": "orders", "to": "1s"},
            {"at": 9000.0, "add_topic": {"more: of it": 2}},
            {"at": 9500.0, "delete_topic": "more: of it"},
            {"at": 9600.0, "configure": "g", "settings": {**OWN, "consumer.session.timeout.ms": None}},
            {"at": 590000.0, "stop_polling": "c2", "for": "1s"},
        ],
        expect={"settles_within": "90s", "idle_members": 0, "max_over_mean": 1.5},
    )
    assert read_text(as_yaml(found)) == found
