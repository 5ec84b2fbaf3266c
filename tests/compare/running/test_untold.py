"""Nothing in a record is null without a reason, and a table's dashes have theirs."""

from collections.abc import Iterator
from typing import Any

import pytest

from compare.explaining.standing import rows, untold_sentences
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.systems import scenario
from compare.running.variants import variants_of

TOLD_BY_TYPES = ("causes", "timeline", "because", "checks", "untold")
BROADCASTING = {"system": "rocketmq:AVG", "label": "each", "settings": {"messageModel": "BROADCASTING"}}

LEAVES: Any = [{"at": "20s", "leave": "c1..c2"}, {"at": "22s", "broker": "b2", "does": "kill", "for": "15s"}]
DAYS: Any = {
    "load, until nobody is there": {"load": {"produce": "20/s"}, "handle": "60ms"},
    "no load": {"load": {"produce": 0}, "handle": 0},
}
SAID: Any = {
    ("kafka:range", "fairness.jain"): "no member is there at this time",
    ("kafka:range", "out_of_order.key"): "the scenario gives the records no keys",
    ("kafka:share", "moves"): "records are given out one by one, so no queue has an owner",
    ("kafka-zookeeper:range", "traffic"): "the sizes of this system's frames are not known",
    ("each", "lag"): "every member of a broadcasting group reads every queue, so no queue is shared",
}


def nulls(value: Any, path: str = "") -> Iterator[str]:
    if value is None:
        yield path
    elif isinstance(value, dict | list | tuple):
        for name, of in value.items() if isinstance(value, dict) else enumerate(value):
            if name not in TOLD_BY_TYPES:
                yield from nulls(of, f"{path}.{name}" if path else str(name))


@pytest.mark.parametrize("day", DAYS)
def test_every_null_has_a_reason(day: str) -> None:
    members = {"c1..c2": {"subscribe": ["t"], "handle": DAYS[day]["handle"]}}
    systems = ["kafka:range", "kafka:share", "kafka-zookeeper:range", "rocketmq:AVG", "rocketmq:POP", BROADCASTING]
    of = scenario(
        name=day,
        brokers=["b1", "b2"],
        topics={"t": {"queues": {"b1": 2, "b2": 1}}},
        group={"name": "g", "members": members},
        load=DAYS[day]["load"],
        run={"for": "60s", "seed": 4},
        events=LEAVES,
        systems=systems,
    )
    records = [run_record(run_variant(variant)) for variant in variants_of(of)]
    for record in records:
        reasons = {path: each["why"] for each in record["untold"] for path in each["figures"]}
        without = [path for path in nulls(record) if not any(f"{path}.".startswith(f"{each}.") for each in reasons)]
        assert without == [], record["label"]
        assert all(reasons.values())
        if DAYS[day]["handle"]:
            for (label, path), why in SAID.items():
                assert label != record["label"] or reasons[path] == why
    lines = untold_sentences(records, rows(records, {}))
    assert any("longest gap" in line and line.endswith("so no queue has an owner.") for line in lines)
