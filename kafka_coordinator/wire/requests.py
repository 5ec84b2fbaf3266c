"""Requests that are not about groups, as the wire brings them: one type per API, whatever its version.

What groups are about has records of its own (`kafka_coordinator.messages` and `consumer_group_messages` beside it),
because the coordinator of the simulation reads them, too. These here are for brokers on sockets alone: ``body`` is the
entity that the codec has read, of the request's own version (`kafka_coordinator.wire.entities`).
"""

from typing import Any, NamedTuple


class Request(NamedTuple):
    """A request; the answer repeats ``correlation``, which is unique on its connection."""

    correlation: int
    version: int
    client_id: str
    body: Any


class Answer(NamedTuple):
    """An answer; ``body`` is an entity of the version that was asked in. None: the request asks for no answer."""

    correlation: int
    body: Any


class ApiVersions(Request):
    __slots__ = ()


class Metadata(Request):
    __slots__ = ()


class Produce(Request):
    __slots__ = ()


class Fetch(Request):
    __slots__ = ()


class ListOffsets(Request):
    __slots__ = ()


class OffsetForLeaderEpoch(Request):
    __slots__ = ()


class InitProducerId(Request):
    __slots__ = ()


class CreateTopics(Request):
    __slots__ = ()


class DeleteTopics(Request):
    __slots__ = ()


class CreatePartitions(Request):
    __slots__ = ()


class DeleteRecords(Request):
    __slots__ = ()


class DescribeConfigs(Request):
    __slots__ = ()


class AlterConfigs(Request):
    __slots__ = ()


class IncrementalAlterConfigs(Request):
    __slots__ = ()


class DescribeCluster(Request):
    __slots__ = ()


class ListConfigResources(Request):
    __slots__ = ()


class DescribeTopicPartitions(Request):
    __slots__ = ()


class SaslHandshake(Request):
    __slots__ = ()


class SaslAuthenticate(Request):
    __slots__ = ()


class DescribeAcls(Request):
    __slots__ = ()


class CreateAcls(Request):
    __slots__ = ()


class DeleteAcls(Request):
    __slots__ = ()


class AskedNothing(Request):
    """A request about groups of which nothing is left to be asked; it is answered with no body, and the codec makes the
    answer."""

    __slots__ = ()
