"""The process that reads a Kafka cluster; `compare.reading.kafka_live.observe` is its other end."""

import os
import resource
import signal
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection as Channel
from typing import NoReturn

from compare.reading.kafka_live.connection import connect
from compare.reading.kafka_live.fetch import broker_settings, fetch
from compare.reading.kafka_live.observe import BROKEN, FOUND, PROGRESS, READY, REFUSED, Order
from compare.reading.sources import Known, answer_s, end_of
from protocols import UserError


def main(descriptor: int) -> NoReturn:
    """Take the order, tell what is found, end."""
    # Ctrl-C reaches every process of a terminal; whoever started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A server that ends this process shall not leave a file with its memory in the user's folder.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = Channel(descriptor)
    with suppress(EOFError, OSError):
        order = channel.recv()
        threading.Thread(target=_end_with_parent, args=(channel,), daemon=True).start()
        try:
            _read(order, channel)
        except UserError as error:
            channel.send((REFUSED, str(error)))
        except Exception:
            channel.send((BROKEN, traceback.format_exc()))
    # Nothing is left to do, and librdkafka would wait for servers that are silent.
    os._exit(0)


def _read(order: Order, channel: Channel) -> None:
    connection = connect(order.servers, order.settings, answer_s(order.timeout_s), end_of(order.timeout_s))
    channel.send((READY, None))
    found = list(fetch(connection, order.source, lambda text: channel.send((PROGRESS, text)), before=order.before))
    if order.ask_brokers:
        found += broker_settings(connection, order.source)
    brokers = tuple(connection.brokers.values())
    known = Known(connection.cluster, brokers, tuple(connection.groups), tuple(connection.shares))
    channel.send((FOUND, (found, known)))


def _end_with_parent(channel: Channel) -> None:
    with suppress(EOFError, OSError):
        channel.recv()
    os._exit(1)
