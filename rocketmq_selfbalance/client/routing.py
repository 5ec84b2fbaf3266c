"""What the client knows of topics and brokers, and how it learns it from a name server
(``updateTopicRouteInfoFromNameServer``; spec 1.5)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.client import blocking
from rocketmq_selfbalance.client.calls import RefreshRoute
from rocketmq_selfbalance.client.instance import Instance, Wait
from rocketmq_selfbalance.client.threads import Thread
from rocketmq_selfbalance.codes import SUCCESS
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo, Route, RouteInfoAnswer
from rocketmq_selfbalance.routes import addresses_of, askable, subscribe_queues


def refresh(client: Instance, now: Time, name: str, thread: Thread, call: RefreshRoute, out: Outbox) -> Wait:
    """The call `RefreshRoute`."""
    server = client.name_servers[client.name_server]
    timeout = client.settings.instance.mq_client_api_timeout_ms
    return blocking.ask(client, now, name, server, timeout, GetRouteInfo(client.next_correlation(), call.topic), out)


def answered(client: Instance, call: RefreshRoute, message: RouteInfoAnswer) -> None:
    """Take the route over. A topic that does not exist (any more) keeps what the client knew."""
    if message.code == SUCCESS and message.route is not None:
        take_over(client, call.topic, message.route)


def take_over(client: Instance, topic: str, route: Route) -> None:
    """Replace the cached route, the addresses, and the queue sets of the consumers that subscribe to the topic, where
    the route is another than before or a consumer lacks it. That wakes nobody."""
    readers = [consumer for consumer in client.consumers.values() if topic in consumer.subscriptions]
    if client.routes.get(topic) == route and all(topic in consumer.routes for consumer in readers):
        return
    client.addresses.update(addresses_of(route))
    queues = subscribe_queues(topic, route)
    for consumer in readers:
        consumer.set_route(topic, queues)
    client.routes[topic] = route
    client.askable[topic] = askable(route.brokers)


def name_server_failed(client: Instance, address: str) -> None:
    """The name server that was asked does not answer: the next one is asked from now on."""
    if client.name_servers[client.name_server] == address:
        client.name_server = (client.name_server + 1) % len(client.name_servers)
