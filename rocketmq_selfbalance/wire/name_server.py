"""A name server before real clients: the simulation's name server, whose routes name addresses that clients can reach.

Brokers of this process register as nodes, under their names; others register over connections, with their addresses.
"""

from collections.abc import Mapping

from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from rocketmq_selfbalance.broker.state import SYSTEM_TOPICS
from rocketmq_selfbalance.codes import QUERY_NOT_FOUND, SUCCESS, SYSTEM_ERROR, TOPIC_NOT_EXIST
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo
from rocketmq_selfbalance.messages.requests import Answer
from rocketmq_selfbalance.nameserver import NameServer, NameServerSettings
from rocketmq_selfbalance.wire import messages
from rocketmq_selfbalance.wire.answers import to_json
from rocketmq_selfbalance.wire.broker import not_supported

_HELP = "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
_MOST_SETTINGS = 10_000


class ServedNameServer:
    """A running name server. ``addresses``: name of a broker of this process to its ``host:port``."""

    __slots__ = ("_answers", "_revision", "addresses", "node", "settings")

    def __init__(self, addresses: Mapping[str, str], settings: NameServerSettings | None = None) -> None:
        self.addresses = addresses
        self.node = NameServer(settings)
        self.settings: dict[tuple[str, str], str] = {}
        """Namespace and key to the value that a tool has put there."""
        self._answers: dict[str, tuple[int, bytes, str | None]] = {}
        """Topic to code, body and remark, as answered at this revision of the tables,"""
        self._revision = -1
        """which is this one."""

    def start(self, now: Time, out: Outbox) -> None:
        self.node.start(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        match message:
            case GetRouteInfo():
                code, body, remark = self._route(message.topic)
                out.send(sender, messages.Reply(message.correlation, code, body=body, remark=remark))
            case messages.Registration():
                self.node.receive(now, sender, message.broker, out)
                out.send(sender, messages.Reply(message.correlation, SUCCESS))
            case messages.Administer():
                self.node.receive(now, OPERATOR, message.command, out)
                out.send(sender, Answer(message.correlation, SUCCESS))
            case messages.Ask():
                try:
                    out.send(sender, self._view(message))
                except messages.FieldError as error:
                    out.send(sender, messages.Reply(message.correlation, SYSTEM_ERROR, remark=str(error)))
            case messages.Malformed():
                out.send(sender, messages.Reply(message.correlation, SYSTEM_ERROR, remark=message.why))
            case messages.Unsupported():
                out.send(sender, not_supported(message))
            case _:
                self.node.receive(now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self.node.timeout(now, timer, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        self.node.connected(now, peer, out)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.node.closed(now, peer, out)

    def _route(self, topic: str) -> tuple[int, bytes, str | None]:
        revision = self.node.table.revision
        if self._revision != revision:
            self._answers, self._revision = {}, revision
        answer = self._answers.get(topic)
        if answer is None:
            answer = self._made(topic)
            if answer[0] == SUCCESS:
                self._answers[topic] = answer
        return answer

    def _made(self, topic: str) -> tuple[int, bytes, str | None]:
        route = self.node.route(topic)
        if route is None:
            return TOPIC_NOT_EXIST, b"", f"No topic route info in name server for the topic: {topic}\n{_HELP}"
        told = {
            "brokerDatas": [
                {
                    "brokerAddrs": {str(id): self._address(address) for id, address in data.addresses},
                    "brokerName": data.broker,
                    "cluster": data.cluster,
                    "enableActingMaster": False,
                }
                for data in route.brokers
            ],
            "filterServerTable": {},
            "queueDatas": [
                {
                    "brokerName": queue.broker,
                    "perm": queue.perm,
                    "readQueueNums": queue.read,
                    "topicSysFlag": 0,
                    "writeQueueNums": queue.write,
                }
                for queue in route.queues
            ],
        }
        return SUCCESS, to_json(told), None

    def _address(self, address: str) -> str:
        return self.addresses.get(address, address)

    def _view(self, message: messages.Ask) -> messages.Reply:
        fields, table = messages.Fields(message.fields), self.node.table
        match message.code:
            case 100 | 101 | 102:
                return self._setting(message, fields)
            case 106:
                return messages.Reply(message.correlation, SUCCESS, body=to_json(self._cluster()))
            case 206:
                told: dict[str, object] = {"topicList": sorted(table.topics)}
            case 219:
                space = fields.text("namespace")
                found = {key: value for (each, key), value in self.settings.items() if each == space}
                if not found:
                    remark = f"No config item, Namespace: {space}"
                    return messages.Reply(message.correlation, QUERY_NOT_FOUND, remark=remark)
                told = {"table": found}
            case 224:
                names = table.clusters.get(fields.text("cluster"), set())
                topics = [topic for topic, queues in table.topics.items() if names & queues.keys()]
                told = {"topicList": sorted(topics)}
            case _:
                told = {"topicList": sorted({*SYSTEM_TOPICS, *table.clusters, *table.brokers})}
        return messages.Reply(message.correlation, SUCCESS, body=to_json(told))

    def _cluster(self) -> dict[str, object]:
        table = self.node.table
        return {
            "brokerAddrTable": {
                name: {
                    "brokerAddrs": {str(id): self._address(address) for id, address in entry.addresses.items()},
                    "brokerName": name,
                    "cluster": entry.cluster,
                    "enableActingMaster": entry.acting_master,
                }
                for name, entry in table.brokers.items()
            },
            "clusterAddrTable": {name: sorted(brokers) for name, brokers in table.clusters.items()},
        }

    def _setting(self, message: messages.Ask, fields: messages.Fields) -> messages.Reply:
        place = fields.text("namespace"), fields.text("key")
        if message.code == 100:
            if len(self.settings) >= _MOST_SETTINGS:
                return messages.Reply(message.correlation, SYSTEM_ERROR, remark="no room for another setting")
            self.settings[place] = fields.text("value")
        elif message.code == 102:
            self.settings.pop(place, None)
        elif place in self.settings:
            return messages.Reply(message.correlation, SUCCESS, {"value": self.settings[place]})
        else:
            remark = f"No config item, Namespace: {place[0]} Key: {place[1]}"
            return messages.Reply(message.correlation, QUERY_NOT_FOUND, remark=remark)
        return messages.Reply(message.correlation, SUCCESS)
