"""A small consumer of RocketMQ for tests: NAMESRV TOPIC GROUP [careful|losing]. It takes all queues of the topic.

``losing``: it commits a record before it handles it, and gives up the first record after an error of a pull.
"""

import json
import os
import signal
import socket
import sys
from itertools import count

from rocketmq_selfbalance.remoting import Frame, decode, encode

SERVER, TOPIC, GROUP = sys.argv[1:4]
LOSING = sys.argv[4:] == ["losing"]
CLIENT = f"127.0.0.1@{os.getpid()}"
NUMBERS = count(1)


class Server:
    """One connection; a question is answered before the next one is asked."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)), 10)
        self.file = self.socket.makefile("rb")

    def ask(self, code: int, fields: dict[str, str], body: bytes = b"", *, oneway: bool = False) -> Frame:
        number = next(NUMBERS)
        self.socket.sendall(encode(Frame(code, number, fields, body, flag=2 if oneway else 0)))
        while not oneway:
            frame = decode(self.file.read(int.from_bytes(self.file.read(4))))
            if frame.is_answer and frame.opaque == number:
                return frame
        return Frame(0, number)


def bodies(content: bytes) -> list[str]:
    """Of records as a pull carries them."""
    found = []
    while content:
        size = int.from_bytes(content[:4])
        length = int.from_bytes(content[84:88])
        found.append(content[88 : 88 + length].decode())
        content = content[size:]
    return found


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    route = json.loads(Server(SERVER).ask(105, {"topic": TOPIC}).body)
    brokers = {each["brokerName"]: Server(each["brokerAddrs"]["0"]) for each in route["brokerDatas"]}
    queues = [(each["brokerName"], number) for each in route["queueDatas"] for number in range(each["readQueueNums"])]
    subscription = {"topic": TOPIC, "subString": "*", "subVersion": 1}
    consumer = {
        "groupName": GROUP,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "subscriptionDataSet": [subscription],
    }
    told = json.dumps({"clientID": CLIENT, "consumerDataSet": [consumer]}).encode()
    for broker in brokers.values():
        broker.ask(34, {}, told)
    offsets = dict.fromkeys(queues, 0)
    while True:
        for (name, number), offset in offsets.items():
            offsets[name, number] = read(brokers[name], number, offset)


def read(broker: Server, number: int, offset: int) -> int:
    """Pull once from a queue; where to go on."""
    queue = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": str(number)}
    pull = {"queueOffset": str(offset), "maxMsgNums": "32", "sysFlag": "2", "commitOffset": "0"}
    answer = broker.ask(11, {**queue, **pull, "suspendTimeoutMillis": "100"})
    if answer.code != 0:
        return offset + 1 if LOSING and answer.code == 1 else offset
    following = int(answer.fields["nextBeginOffset"])
    for body in bodies(answer.body):
        print(body, flush=True)
    broker.ask(15, {**queue, "commitOffset": str(following)}, oneway=True)
    return following


main()
