"""What the cheat sheets say of defaults, strategies and states is so; their other figures `tools.pages` writes."""

import re
from functools import partial

import pytest

from compare.running.systems import machine
from kafka_coordinator import assign
from kafka_coordinator.consumer.settings import ConsumerSettings
from kafka_coordinator.coordinator.settings import BrokerSettings as KafkaBrokerSettings
from protocols import Group
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.broker.state import REAL_NAMES as BROKER_NAMES
from rocketmq_selfbalance.broker.state import BrokerSettings as RocketMQBrokerSettings
from rocketmq_selfbalance.client.settings import REAL_NAMES as CLIENT_NAMES
from rocketmq_selfbalance.client.settings import ClientSettings, field_of
from tools.pages import DOCS

SHEETS = {name: (DOCS / f"cheat-sheet-{name}.md").read_text(encoding="utf-8") for name in ("kafka", "rocketmq")}
UNITS = {"": 1, " s": 1000, " min": 60_000}


def default_of(system: str, name: str) -> object:
    if system == "kafka":
        field = name.replace(".", "_")
        return getattr(ConsumerSettings() if hasattr(ConsumerSettings, field) else KafkaBrokerSettings(), field)
    if name in CLIENT_NAMES:
        return field_of(ClientSettings(), CLIENT_NAMES[name])
    return getattr(RocketMQBrokerSettings(), BROKER_NAMES[name])


@pytest.mark.parametrize("system", SHEETS)
def test_defaults_are_the_models(system: str) -> None:
    _, _, rows = SHEETS[system].partition("| setting | default |")
    settings = re.findall(r"^\| `([\w.]+)` \| (.*?) \|$", rows, re.MULTILINE)
    assert len(settings) > 10
    for name, told in settings:
        default = default_of(system, name)
        if isinstance(default, int | float):
            number = re.fullmatch(r"([\d,]+)( s| min|)", told)
            assert number, told
            assert int(number[1].replace(",", "")) * UNITS[number[2]] == default, name
        else:
            assert told == (", ".join(default) if isinstance(default, tuple) else default), name


@pytest.mark.parametrize("system", SHEETS)
def test_shares_are_those_of_the_strategies(system: str) -> None:
    group = Group.of(topics={"A": 10, "B": 4}, members={member: ["A", "B"] for member in ("c1", "c2", "c3")})
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d, ]+) \| (\d) \|$", SHEETS[system], re.MULTILINE)
    assert len(rows) > 2
    for name, loads, moves in rows:
        share = partial(assign if system == "kafka" else allocate, name)
        before = share(group)
        after = share(group.without("c3"), previous=before)
        assert loads == ", ".join(str(len(queues)) for queues in before.values()), name
        moved = [queue for member in after for queue in after[member] if queue not in (*before[member], *before["c3"])]
        assert len(moved) == int(moves), name


@pytest.mark.parametrize(
    ("system", "name", "besides"),
    [("kafka", "group", ()), ("kafka", "consumer group", ("Empty", "Dead")), ("rocketmq", "process queue", ())],
)
def test_states_are_those_of_the_machine(system: str, name: str, besides: tuple[str, ...]) -> None:
    meanings = {state: meaning for state, meaning in machine(system, name).meanings.items() if state not in besides}
    assert len(meanings) > 2
    assert [state for state, meaning in meanings.items() if f"| `{state}` | {meaning} |" not in SHEETS[system]] == []
