"""Groups of many minimal clients at real brokers of RocketMQ 5.5.0, beside what the model says of the same group.

`python -m tests.slow.test_scale_rocketmq 100 500` prints what docs/scale.md has a table of, and with `pop` before the
numbers that of clients which pop.
"""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tabulate import tabulate

from compare.reading.rocketmq_live import answers
from compare.reading.rocketmq_live import client as asking
from compare.running.systems import cluster_of
from compare.sweeping.allocations import queues_per_broker
from compare.sweeping.reading import read_text
from compare.sweeping.scale import AWAY_MS, BROKERS, QUEUES, begins, scale_row, scenario_of
from protocols.engine.nodes import TICK, Message
from protocols.engine.traffic import Load, Sizes, Traffic
from protocols.scenario.running import Run as ModelRun
from rocketmq_selfbalance import frame_sizes
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.messages import membership, nameserver, popping
from rocketmq_selfbalance.popping.messages import ReceiveMessage
from tests.slow import real_rocketmq, scale_clients
from tests.slow.java import UnavailableError
from tests.slow.scale_members import QUIET_S, Run, Story
from tools.scale.server_limits import client_list_bytes

pytestmark = pytest.mark.slow

_VERSION = "5.5.0"
_NAMES = tuple(f"broker-{number}" for number in range(BROKERS))
_LISTS = (membership.GetConsumerListByGroup, membership.ConsumerList)
_STORIES = ("start", "join", "deploy")
_RUN_S = 320
"""Of the model: of each story the second half has two rounds of the passes that clients make every 20 s."""
_CLUSTER_INFO, _MAKE_TOPIC = 106, 17
_POPS = {"defaultMessageRequestMode": "POP", **real_rocketmq.POPS}
_POPPED: Mapping[int, type[Message]] = {
    scale_clients.ASSIGNMENT: popping.QueryAssignment,
    scale_clients.POP: ReceiveMessage,
    scale_clients.HEARTBEAT: membership.HeartBeat,
    scale_clients.ROUTE: nameserver.GetRouteInfo,
    scale_clients.CHANGED: membership.NotifyConsumerIdsChanged,
}
"""Number of a request of clients that pop to the model's message."""
_MEMBERS = 40
_ONE_BY_ONE = {"heartbeatThreadPoolNums": "1", "clientManageThreadPoolNums": "1"}
"""No change interrupts the notices of an older one (docs/spec/rocketmq.md, 2.3)."""


@pytest.fixture(scope="module")
def rocketmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[real_rocketmq.RealRocketMQ]:
    try:
        folder = tmp_path_factory.mktemp("rocketmq")
        with real_rocketmq.running(folder, _VERSION, settings={**_POPS, **_ONE_BY_ONE}, brokers=_NAMES) as running:
            yield running
    except UnavailableError as why:
        pytest.skip(str(why))


async def _make_topic(name_server: str, topic: str, queues: int) -> None:
    """With the model's queues at each broker; until the name server knows all of them."""
    async with asking.Client(30.0) as client:
        (server,) = asking.name_servers(name_server)
        told: Any = answers.loads((await client.ask(server, _CLUSTER_INFO, {})).body.decode())
        for broker, share in queues_per_broker(queues, _NAMES).items():
            at = asking.parsed(told["brokerAddrTable"][broker]["brokerAddrs"]["0"])
            assert at is not None
            fields = {"topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(share), "order": "false"}
            more = {"writeQueueNums": str(share), "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0"}
            await client.ask(at, _MAKE_TOPIC, {**fields, **more})
        for _ in range(100):
            route: Any = answers.loads((await client.ask(server, scale_clients.ROUTE, {"topic": topic})).body.decode())
            if len(route["queueDatas"]) == len(_NAMES):
                return
            await asyncio.sleep(0.1)
    raise AssertionError("the name server does not know the topic")


def ran(rocketmq: real_rocketmq.RealRocketMQ, members: int, kind: type[scale_clients.RocketMember]) -> dict[str, Story]:
    topic = f"topic-{kind.__name__}-{members}"

    async def run() -> dict[str, Story]:
        await _make_topic(rocketmq.name_server, topic, QUEUES * members)
        group = Run(rocketmq.name_server, kind, members, f"group-{topic}", topic)
        try:
            return await group.stories()
        finally:
            await group.end()

    return asyncio.run(run())


def modelled(members: int) -> tuple[dict[str, float | None], Mapping[str, Load], Mapping[str, int]]:
    """Seconds to settle; requests and bytes of lists from each event until `QUIET_S` after the last change, at rest
    those of a second; notices of each event."""
    text = f"name: s\nkind: scale\nmembers: {members}\nsystems: [rocketmq:AVG]\nfor: {_RUN_S}s\n"
    sweep = read_text(f"{text}versions: {{rocketmq: '5.5'}}\n").sweep
    (part,) = sweep.systems
    row = scale_row(sweep, sweep.cell(0), part)
    settled = {story: row[f"{story}_settle_s"] for story in _STORIES}
    scenario = scenario_of(sweep, sweep.cell(0), part.system)
    run = ModelRun.of(scenario, part, cluster_of(part.system), seed=1, full=True)
    sizes: Sizes = {kind: frame_sizes.SIZES[kind] for kind in _LISTS}
    traffic = run.simulation.traffic = Traffic(sizes, frame_sizes.REQUESTS, _NAMES)
    length = sweep.run_for / 4
    notices, before = {}, 0
    for number, story in enumerate(_STORIES, 1):
        run.simulation.run(begins(number, length) - TICK)
        sent = run.simulation.messages[membership.NotifyConsumerIdsChanged]
        notices[story], before = sent - before, sent
    by_second = traffic.by_second(sweep.run_for)
    together = [_sum(second) for second in zip(*by_second.values(), strict=True)]
    lists = {}
    for number, story in enumerate(_STORIES):
        first = int(begins(number, length) // 1000)
        lists[story] = _sum(together[first : first + int((settled[story] or 0.0) + QUIET_S)])
    rest = _sum(together[int(length // 2000) : int(length // 1000)])
    seconds = length / 2000
    return settled, {**lists, "rest": Load(rest.requests / seconds, rest.bytes / seconds)}, notices


def _sum(loads: tuple[Load, ...] | list[Load]) -> Load:
    found = Load()
    for load in loads:
        found = found.plus(load)
    return found


def lists_of(story: Story) -> Load:
    """Requests and bytes of the lists of ids."""
    asked = scale_clients.MEMBERS
    return Load(story.requests.get(asked, 0), story.bytes.get(asked, 0))


def test_a_group_asks_for_its_members_as_often_as_the_model_says(rocketmq: real_rocketmq.RealRocketMQ) -> None:
    stories = ran(rocketmq, _MEMBERS, scale_clients.RocketMember)
    settled, lists, notices = modelled(_MEMBERS)
    rest = lists_of(stories["rest"])
    assert rest.bytes / scale_clients.RocketMember.rest_s == pytest.approx(lists["rest"].bytes, rel=0.15)
    assert lists_of(stories["join"]).bytes == pytest.approx(lists["join"].bytes, rel=0.15)
    for story in _STORIES:
        assert stories[story].settle_s == pytest.approx(settled[story], abs=1.5), story
        # The broker gives up some after 10 ms without a permit to send.
        assert stories[story].requests[scale_clients.CHANGED] == pytest.approx(notices[story], rel=0.01), story
    assert stories["start"].largest == pytest.approx(client_list_bytes(_MEMBERS), rel=0.02)


def modelled_pop(members: int) -> dict[str, tuple[float, Mapping[int, float]]]:
    """Seconds until every member asks at all brokers (0 of the rest); how often members ask and are told, by number of
    the request, from each event until `QUIET_S` after that, at rest in a second."""
    system = "{system: rocketmq:POP, settings: {client: DefaultMQPushConsumer}}"
    text = f"name: s\nkind: scale\nmembers: {members}\nsystems: [{system}]\nfor: {_RUN_S}s\n"
    sweep = read_text(f"{text}versions: {{rocketmq: '5.5'}}\n").sweep
    (part,) = sweep.systems
    scenario = scenario_of(sweep, sweep.cell(0), part.system)
    run = ModelRun.of(scenario, part, cluster_of(part.system), seed=1, full=True).simulation

    def counted(until: float, seconds: float = 1.0) -> Mapping[int, float]:
        before = {kind: run.messages.get(kind, 0) for kind in _POPPED.values()}
        run.run(until)
        return {number: (run.messages.get(kind, 0) - before[kind]) / seconds for number, kind in _POPPED.items()}

    def asking() -> int:
        clients = [process.node for process in run.processes.values() if isinstance(process.node, Client)]
        return sum(len(consumer.pop_table) for each in clients for consumer in each.instance.consumers.values())

    found, length = {}, sweep.run_for / 4
    for number, story in enumerate(_STORIES):
        since, all_of_them = begins(number, length), BROKERS * (members + (story != "start"))
        first = counted(since + (AWAY_MS + TICK if story == "deploy" else 0.0))
        while asking() < all_of_them:
            more = counted(run.now + 100.0)
            first = {key: value + more[key] for key, value in first.items()}
        settled = (run.now - since) / 1000
        more = counted(run.now + 1000 * QUIET_S)
        found[story] = settled, {key: value + more[key] for key, value in first.items()}
        ends = begins(number + 1, length) - TICK
        rest = counted(ends, (ends - run.now) / 1000)
        if story == "start":
            found["rest"] = 0.0, rest
    return found


def main_of_pop(sizes: list[int]) -> None:
    rows = []
    with TemporaryDirectory() as folder:
        running = real_rocketmq.running(Path(folder), _VERSION, settings={**_POPS, **_ONE_BY_ONE}, brokers=_NAMES)
        with running as rocketmq:
            for members in sizes:
                stories, model = ran(rocketmq, members, scale_clients.PopMember), modelled_pop(members)
                for name, story in stories.items():
                    seconds = scale_clients.PopMember.rest_s if name == "rest" else 1.0
                    row = [members, name, story.settle_s, model[name][0], round(story.spread_s, 2)]
                    for key in _POPPED:
                        row += [round(story.requests.get(key, 0) / seconds, 1), round(model[name][1][key], 1)]
                    print(row, dict(story.errors), flush=True)
                    rows.append(row)
    heads = ["members", "story", "settled s", "model", "spread s"]
    print(tabulate(rows, [*heads, *(head for kind in _POPPED.values() for head in (kind.__name__, "model"))]))


def test_clients_that_pop_ask_as_often_as_the_model_says(rocketmq: real_rocketmq.RealRocketMQ) -> None:
    stories, model = ran(rocketmq, _MEMBERS, scale_clients.PopMember), modelled_pop(_MEMBERS)
    for key in (scale_clients.ASSIGNMENT, scale_clients.POP, scale_clients.HEARTBEAT):
        at_rest = stories["rest"].requests[key] / scale_clients.PopMember.rest_s
        assert at_rest == pytest.approx(model["rest"][1][key], rel=0.15), key
    for story in _STORIES:
        notices = stories[story].requests[scale_clients.CHANGED]
        assert notices == pytest.approx(model[story][1][scale_clients.CHANGED], rel=0.01), story


def main() -> None:
    if sys.argv[1] == "pop":
        main_of_pop([int(each) for each in sys.argv[2:]])
        return
    rows = []
    with TemporaryDirectory() as folder, real_rocketmq.running(Path(folder), _VERSION, brokers=_NAMES) as rocketmq:
        for members in map(int, sys.argv[1:]):
            stories = ran(rocketmq, members, scale_clients.RocketMember)
            settled, lists, notices = modelled(members)
            for name, story in stories.items():
                seconds = scale_clients.RocketMember.rest_s if name == "rest" else 1.0
                real, model = lists_of(story), lists[name]
                row = [members, name, story.settle_s, settled.get(name), round(story.spread_s, 2)]
                row += [real.requests / seconds, model.requests, real.bytes / seconds, model.bytes, story.largest]
                row += [story.requests.get(scale_clients.CHANGED, 0), notices.get(name)]
                print(row, dict(story.requests), dict(story.errors), flush=True)
                rows.append(row)
    heads = ["members", "story", "settled s", "model", "spread s", "lists", "model", "bytes", "model", "largest answer"]
    heads += ["notices", "model"]
    print(tabulate(rows, heads))


if __name__ == "__main__":
    main()
