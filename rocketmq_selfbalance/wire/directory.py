"""What the proxy of a served cluster learns of it (`rocketmq_selfbalance.proxy.routes.Directory`)."""

from collections.abc import Callable, Mapping

from protocols.java import string_entry_order
from rocketmq_selfbalance.broker import Disk
from rocketmq_selfbalance.messages.membership import SubscriptionGroup
from rocketmq_selfbalance.messages.nameserver import Route


class ClusterDirectory:
    """Reads the name server's table and the brokers' settings. ``route_of`` is the name server's answer; ``disks``:
    broker to what it keeps."""

    def __init__(self, route_of: Callable[[str], Route | None], disks: Mapping[str, Disk]) -> None:
        self._route_of, self._disks = route_of, disks

    def route(self, topic: str) -> Route | None:
        """The topic's route, brokers in the order of the name server's hash table."""
        route = self._route_of(topic)
        if route is None:
            return None
        by_name = {data.broker: data for data in route.queues}
        return route._replace(queues=tuple(by_name[name] for name in string_entry_order(list(by_name))))

    def topic_kind(self, topic: str) -> str | None:
        """What producers may send to the topic."""
        kinds = (disk.topics.configs[topic].kind for disk in self._disks.values() if topic in disk.topics.configs)
        return next(kinds, None)

    def group(self, name: str) -> SubscriptionGroup | None:
        """The group's settings, made where brokers make groups that somebody asks for."""
        known = (disk.groups.configs[name] for disk in self._disks.values() if name in disk.groups.configs)
        found = next(known, None)
        if found is None and self._disks:
            found = next(iter(self._disks.values())).groups.find(name)
        return found
