"""librdkafka's own mock cluster, in this process and on 127.0.0.1: the brokers that the real client talks to.

confluent-kafka has no call for it, so librdkafka's own are called, out of the library that confluent-kafka has loaded.
"""

import ctypes
from pathlib import Path
from typing import Any

import confluent_kafka

_PRODUCER = 0
_REASON_BYTES = 512


def _library() -> Any:
    """librdkafka as the wheel of confluent-kafka brings it."""
    beside = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    (path,) = beside.glob("librdkafka*")
    library = ctypes.CDLL(str(path))
    library.rd_kafka_new.restype = ctypes.c_void_p
    library.rd_kafka_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    library.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_new.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    library.rd_kafka_mock_cluster_bootstraps.argtypes = [ctypes.c_void_p]
    library.rd_kafka_mock_topic_create.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    library.rd_kafka_mock_group_initial_rebalance_delay_ms.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    library.rd_kafka_mock_broker_set_down.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    library.rd_kafka_mock_push_request_errors.argtypes = [ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t]
    library.rd_kafka_mock_cluster_destroy.argtypes = [ctypes.c_void_p]
    library.rd_kafka_destroy.argtypes = [ctypes.c_void_p]
    return library


class MockCluster:
    """One broker, whose groups wait for nobody when they form."""

    def __init__(self) -> None:
        self._library = _library()
        reason = ctypes.create_string_buffer(_REASON_BYTES)
        self._client = self._library.rd_kafka_new(_PRODUCER, None, reason, _REASON_BYTES)
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._client, 1)
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
        self.address: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        """Host and port, as ``bootstrap.servers`` wants them."""

    def create_topic(self, name: str, partitions: int) -> None:
        """A topic with so many partitions."""
        failed = self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1)
        assert not failed, f"topic {name}: error {failed}"

    def stop(self) -> None:
        """The broker stops: connections break, new ones are refused."""
        self._library.rd_kafka_mock_broker_set_down(self._cluster, 1)

    def answer_once(self, request: int, error: int) -> None:
        """The next request of this kind (Kafka's number of it) is answered with this error."""
        self._library.rd_kafka_mock_push_request_errors(self._cluster, request, 1, ctypes.c_int(error))

    def close(self) -> None:
        """Stop the broker's thread."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)
