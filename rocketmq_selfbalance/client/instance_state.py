"""The state of a client instance as a whole: an independent copy, and a key of plain tuples."""

from protocols.engine.nodes import Time
from rocketmq_selfbalance.client.instance import Instance


def copy_of(client: Instance) -> Instance:
    """An independent copy."""
    copy = Instance(client.client_id, client.name_servers, client.settings, client.tables)
    copy.created, copy.running, copy.ended = client.created, client.running, client.ended
    copy.name_server, copy.correlation, copy.heartbeating = client.name_server, client.correlation, client.heartbeating
    copy.consumers = {group: consumer.copy() for group, consumer in client.consumers.items()}
    copy.routes, copy.askable = client.routes.copy(), client.askable.copy()
    copy.addresses = {broker: known.copy() for broker, known in client.addresses.items()}
    copy.connections = client.connections.copy()
    copy.threads = {name: thread.copy() for name, thread in client.threads.items()}
    copy.asked, copy.pulled, copy.sent_back = client.asked.copy(), client.pulled.copy(), client.sent_back.copy()
    copy.watched = client.watched.copy()
    copy.service = client.service.copy()
    copy.service.told = {group: copy.consumers.get(group, of) for group, of in client.service.told.items()}
    copy.task_due = client.task_due.copy()
    copy.observed = client.observed.copy()
    return copy


def key_of(client: Instance, now: Time) -> tuple[object, ...]:
    """Equal keys behave equally from now on. Requests count from the next correlation number down."""
    last = client.correlation
    return (
        client.client_id,
        client.running,
        client.name_server,
        client.heartbeating,
        tuple(consumer.key(now) for consumer in client.consumers.values()),
        tuple(sorted(client.routes.items())),
        tuple((broker, tuple(sorted(known.items()))) for broker, known in sorted(client.addresses.items())),
        tuple(sorted(client.connections)),
        tuple((name, thread.key()) for name, thread in client.threads.items()),
        tuple((last - number, *asked[:2]) for number, asked in client.asked.items()),
        tuple((last - number, pulled) for number, pulled in client.pulled.items()),
        tuple((last - number, sent) for number, sent in client.sent_back.items()),
        client.service.key(now),
        tuple((name, due - now) for name, due in client.task_due.items()),
        tuple(sorted(client.observed.life_of.items())),
    )
