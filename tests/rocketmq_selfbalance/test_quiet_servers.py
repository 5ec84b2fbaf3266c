"""Name server and brokers at rest: passing over quiet times tells, sends and leaves behind the same."""

from functools import partial
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.engine.fast_forward.driver import FastForward
from protocols.engine.links import Fault, Latency
from protocols.engine.nodes import TICK, Time
from protocols.engine.simulation import Simulation
from rocketmq_selfbalance.broker import Broker, BrokerNode, Disk
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.broker.topics import SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.fast_forward import ADAPTERS
from rocketmq_selfbalance.messages.membership import HeartBeat, UpdateTopic
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.messages.offsets import UpdateConsumerOffset
from rocketmq_selfbalance.nameserver import NameServer
from tests.protocols.happenings import Facts, Happens
from tests.rocketmq_selfbalance.client.resting_client import BROKERS, RestingAdapter, RestingClient
from tests.rocketmq_selfbalance.lived import left_behind


def story(happenings: list[Happens], seed: int, latency: Latency, until: Time, full: bool) -> tuple[Simulation, Any]:
    facts = Facts()
    simulation = Simulation(seed=seed, latency=latency, observer=facts)
    if not full:
        FastForward(simulation, {**ADAPTERS, RestingClient: RestingAdapter})
    disks = {broker: disk() for broker in BROKERS}
    simulation.start("namesrv", NameServer())
    for broker in BROKERS:
        simulation.start(broker, BrokerNode(Broker(broker, disks[broker])))
    for number in range(3):
        simulation.at(100.0 + number * 37.0, partial(begin, simulation, number))
    for each in happenings:
        simulation.at(each.at, partial(happen, simulation, disks, each))
    simulation.run(until)
    return simulation, facts.told


def disk() -> Disk:
    return Disk(TopicConfigManager(0, [TopicConfig("T", 4, 4)]), SubscriptionGroupManager(), MessageStore())


def begin(simulation: Simulation, number: int) -> None:
    if not simulation.is_running(f"c{number}"):
        simulation.start(f"c{number}", RestingClient(f"c{number}", number))


def happen(simulation: Simulation, disks: dict[str, Disk], each: Happens) -> None:
    name, broker = f"c{each.client}", BROKERS[each.server]
    match each.what:
        case "start":
            begin(simulation, each.client)
        case "broker returns" if not simulation.is_running(broker):
            simulation.start(broker, BrokerNode(Broker(broker, disks[broker])))
        case "broker killed" if simulation.is_running(broker):
            simulation.end(broker)
        case "topic" if simulation.is_running(broker):
            config = disks[broker].topics.configs["T"]
            simulation.command(broker, UpdateTopic(0, config._replace(read=config.read + 1)))
        case "crash" if simulation.is_running(name):
            simulation.end(name)
        case "hang" if simulation.is_running(name):
            simulation.hang(name)
        case "wake" if simulation.is_running(name):
            simulation.wake(name)
        case "disconnect" if simulation.is_running(name):
            simulation.disconnect(name, broker)
        case "cut":
            simulation.set_fault(name, broker, Fault(cut=True))
        case "mend":
            simulation.set_fault(name, broker, None)


WHAT = ["start", "broker returns", "broker killed", "topic", "crash", "hang", "wake", "disconnect", "cut", "mend"]
HAPPENINGS = st.lists(
    st.builds(
        Happens,
        st.integers(1_000_000, 400_000_000).map(lambda ticks: ticks * TICK),
        st.sampled_from(WHAT),
        st.integers(0, 3),
        st.integers(0, 1),
    ),
    max_size=6,
)


@settings(max_examples=30, deadline=None)
@example(
    [Happens(976.5625, "disconnect", 1, 0), Happens(25_269_249 * TICK, "hang", 1, 0)], 0, Latency(2.0, 2.0)
)  # both brokers find the connection idle at the same time
@given(HAPPENINGS, st.integers(0, 3), st.sampled_from([Latency(1.0, 5.0), Latency(2.0, 2.0), Latency(0.0, 0.0)]))
def test_full_runs_and_others_tell_send_and_leave_behind_the_same(
    happenings: list[Happens], seed: int, latency: Latency
) -> None:
    full, in_full = story(happenings, seed, latency, 420_000.0, full=True)
    quick, told = story(happenings, seed, latency, 420_000.0, full=False)
    assert told == in_full
    assert quick.messages == full.messages
    for name in ("namesrv", *BROKERS):
        assert quick.is_running(name) == full.is_running(name)
        if full.is_running(name):
            assert left_behind(quick.processes[name].node) == left_behind(full.processes[name].node)


def test_a_long_quiet_run_costs_little() -> None:
    full, _ = story([], 1, Latency(1.0, 5.0), 300_000.0, full=True)
    quick, _ = story([], 1, Latency(1.0, 5.0), 300_000.0, full=False)
    assert quick.messages == full.messages
    assert full.messages[HeartBeat] > 500
    assert full.messages[UpdateConsumerOffset] > 3000
    assert quick.number < full.number / 10
