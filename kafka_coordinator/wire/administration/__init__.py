"""Requests of administrators: topics created, deleted, grown and described, settings, the cluster.

What changes the cluster a broker passes on to the controller (`kafka_coordinator.wire.controller`), what describes it
every broker answers itself. `create_missing` asks for topics that clients want and that are not there.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_coordinator.wire import requests
from kafka_coordinator.wire.administration.cluster import describe_cluster, describe_topic_partitions
from kafka_coordinator.wire.administration.configs import describe_configs, list_config_resources, own_settings
from kafka_coordinator.wire.controller import Administer, Administered, Change, CreateMissing
from kafka_coordinator.wire.state import CONTROLLER, BrokerState, Handler
from protocols.engine.nodes import Message, Outbox, Time

__all__ = ["HANDLERS", "create_missing"]


def _pass_on(state: BrokerState, now: Time, sender: str, request: Change, out: Outbox) -> None:
    out.send(CONTROLLER, Administer(sender, request, state.node_id, own_settings(state)))


def _answered(state: BrokerState, now: Time, sender: str, message: Administered, out: Outbox) -> None:
    out.send(message.client, message.answer)


def create_missing(topics: Iterable[str], out: Outbox) -> None:
    """Ask the controller for these topics, with the defaults; brokers learn of them as of any other."""
    wanted = tuple(topics)
    if wanted:
        out.send(CONTROLLER, CreateMissing(wanted))


HANDLERS: Final[Mapping[type[Message], Handler]] = {
    requests.CreateTopics: _pass_on,
    requests.DeleteTopics: _pass_on,
    requests.CreatePartitions: _pass_on,
    requests.AlterConfigs: _pass_on,
    requests.IncrementalAlterConfigs: _pass_on,
    Administered: _answered,
    requests.DescribeConfigs: describe_configs,
    requests.ListConfigResources: list_config_resources,
    requests.DescribeCluster: describe_cluster,
    requests.DescribeTopicPartitions: describe_topic_partitions,
}
