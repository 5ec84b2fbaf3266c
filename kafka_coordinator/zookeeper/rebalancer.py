"""A consumer's rebalances, one at a time: what it does in each stage, and the owner nodes that are its own then.

A try that fails is followed by another after a pause, up to ``rebalance.max.retries`` of them (spec 7.3).

In Kafka 0.8 `ZookeeperConsumerConnector.ZKRebalancerListener` (`syncedRebalance`).
"""

from dataclasses import dataclass
from typing import Final

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.zookeeper.connection import Connection, Watching
from kafka_coordinator.zookeeper.consumption import Consumption, as_queues
from kafka_coordinator.zookeeper.messages import Request, SetData
from kafka_coordinator.zookeeper.rebalance import Failed, Rebalance, Stage, commits, releases
from kafka_coordinator.zookeeper.settings import STRATEGIES, ConsumerSettings
from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Committed, Granted, Noted, RebalanceBegan, RebalanceEnded
from protocols.java import Queue
from protocols.node_state import NodeState

WORKING: Final = "working"
"""What a request is for: the rebalance that runs."""

BACKOFF: Final = "backoff"
"""The timer of the pause between two tries."""


@dataclass(slots=True, eq=False)
class Rebalancer(NodeState):
    """Of one consumer; ``group`` and ``member`` are names in the scenario."""

    _group: str
    _member: str
    _settings: ConsumerSettings
    _run: Rebalance | None = None
    nodes: tuple[Partition, ...] = ()
    """The owner nodes that the consumer has created and not given up."""

    def end(self, out: Outbox) -> None:
        """What runs is given up, without a word."""
        self._run = None
        out.cancel_timer(BACKOFF)

    def begin(self, consumer_id: str, watching: Watching, connection: Connection, out: Outbox) -> None:
        """Begin a rebalance if one is due and none runs. A pattern subscriber learns its topics first."""
        if watching.due is None or self._run is not None:
            return
        if watching.is_listing(connection):
            return
        assign = STRATEGIES[self._settings.partition_assignment_strategy].implementation
        self._run = Rebalance(watching.due, self._group, consumer_id, watching.topics, assign)
        out.observe(RebalanceBegan(self._group, watching.due, None, None, self._member))
        watching.due = None
        connection.ask(WORKING, self._run.todo[0], out)

    def try_again(self, connection: Connection, out: Outbox) -> None:
        """The pause after a try that failed is over."""
        if self._run is not None:
            self._run.begin()
            connection.ask(WORKING, self._run.todo[0], out)

    def go_on(
        self,
        now: Time,
        answer: Message,
        watching: Watching,
        connection: Connection,
        consumption: Consumption,
        out: Outbox,
    ) -> None:
        """The rebalance goes on with this answer, through stages that ask nothing."""
        run = self._run
        assert run is not None
        try:
            request = run.todo[0]
            run.take(answer)
            if isinstance(request, SetData):
                self.stored(request, out)
            while not run.todo:
                match run.advance():
                    case Stage.COMMIT:
                        run.also_ask(self.stop(now, consumption, out))
                    case Stage.RELEASE:
                        run.also_ask(releases(self._group, self.nodes))
                    case Stage.PARTITIONS:
                        self.nodes = ()
                    case Stage.OFFSETS:
                        out.observe(Granted(self._group, self._member, as_queues(run.share), None))
                    case Stage.DONE:
                        self.nodes = tuple(run.claimed)
                        largest = self._settings.auto_offset_reset == "largest"
                        consumption.start(now, run.offsets, largest, out)
                        self._over(bool(run.share), out)
                        return
                    case Stage.NO_BROKER:
                        watching.watch_brokers(connection, out)
                        self._over(False, out)
                        return
                    case _:
                        pass
        except Failed as reason:
            self._failed(now, run, str(reason), out)
            return
        connection.ask(WORKING, run.todo[0], out)

    def _failed(self, now: Time, run: Rebalance, reason: str, out: Outbox) -> None:
        run.wait()
        member, tries = self._member, self._settings.rebalance_max_retries
        out.observe(Noted(f"{member}: try {run.attempt} of {tries} failed: {reason}"))
        if run.attempt < tries:
            out.set_timer(BACKOFF, now + self._settings.backoff_ms)
        else:
            out.observe(Noted(f"{member}: gives up and owns nothing, but stays registered"))
            self._over(False, out)

    def _over(self, changed: bool, out: Outbox) -> None:
        self._run = None
        out.observe(RebalanceEnded(self._group, None, changed, self._member))

    def stop(self, now: Time, consumption: Consumption, out: Outbox) -> list[Request]:
        """Own nothing from now on; what to commit."""
        positions = consumption.stop(now, out)
        return commits(self._group, positions) if self._settings.auto_commit_enable else []

    def stored(self, request: Request, out: Outbox) -> None:
        """ZooKeeper accepts every offset, from any consumer."""
        assert isinstance(request, SetData)
        _, topic, number = request.path.rsplit("/", 2)
        queue = Queue(topic, "", int(number))
        out.observe(Committed(self._group, queue, request.data, self._member, None, ""))
