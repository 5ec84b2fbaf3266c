"""Requests that are not about groups, as the wire brings them: one type per API, whatever its version.

What groups are about has records of its own (`kafka_coordinator.messages`),
because the coordinator of the simulation reads them, too. These here are for brokers on sockets alone: ``body`` is the
entity that the codec has read, of the request's own version, and has the type of the newest one
(`kafka_coordinator.wire.entities`).
"""

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kio.static.protocol import Entity

if TYPE_CHECKING:
    from kio.schema.add_offsets_to_txn.v4.request import AddOffsetsToTxnRequest
    from kio.schema.add_partitions_to_txn.v3.request import AddPartitionsToTxnRequest as AddToOneTxnRequest
    from kio.schema.add_partitions_to_txn.v5.request import AddPartitionsToTxnRequest
    from kio.schema.alter_configs.v2.request import AlterConfigsRequest
    from kio.schema.api_versions.v4.request import ApiVersionsRequest
    from kio.schema.create_acls.v3.request import CreateAclsRequest
    from kio.schema.create_partitions.v3.request import CreatePartitionsRequest
    from kio.schema.create_topics.v7.request import CreateTopicsRequest
    from kio.schema.delete_acls.v3.request import DeleteAclsRequest
    from kio.schema.delete_records.v2.request import DeleteRecordsRequest
    from kio.schema.delete_topics.v6.request import DeleteTopicsRequest
    from kio.schema.describe_acls.v3.request import DescribeAclsRequest
    from kio.schema.describe_cluster.v2.request import DescribeClusterRequest
    from kio.schema.describe_configs.v4.request import DescribeConfigsRequest
    from kio.schema.describe_producers.v0.request import DescribeProducersRequest
    from kio.schema.describe_share_group_offsets.v1.request import DescribeShareGroupOffsetsRequest
    from kio.schema.describe_topic_partitions.v0.request import DescribeTopicPartitionsRequest
    from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest
    from kio.schema.end_txn.v5.request import EndTxnRequest
    from kio.schema.fetch.v18.request import FetchRequest
    from kio.schema.incremental_alter_configs.v1.request import IncrementalAlterConfigsRequest
    from kio.schema.init_producer_id.v6.request import InitProducerIdRequest
    from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
    from kio.schema.list_offsets.v11.request import ListOffsetsRequest
    from kio.schema.list_transactions.v2.request import ListTransactionsRequest
    from kio.schema.metadata.v13.request import MetadataRequest
    from kio.schema.offset_for_leader_epoch.v4.request import OffsetForLeaderEpochRequest
    from kio.schema.produce.v13.request import ProduceRequest
    from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
    from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
    from kio.schema.write_txn_markers.v2.request import WriteTxnMarkersRequest


class Request(NamedTuple):
    """A request; the answer repeats ``correlation``, which is unique on its connection."""

    correlation: int
    version: int
    client_id: str
    body: object


Work: TypeAlias = Generator[None, None, Entity | None]
"""What makes an answer, piece by piece, each of which takes a few milliseconds; None as of `Answer`."""


Piece: TypeAlias = Generator[None, None, Entity]
"""Work on a part of an answer."""


class Answer(NamedTuple):
    """An answer; ``body`` is an entity of the version that was asked in, or what is left to be done for it. None: the
    request asks for no answer."""

    correlation: int
    body: Entity | Work | None


def answered(correlation: int, work: Work) -> Answer:
    """The answer that the work gives: its first piece is done now, further ones while the answer is written."""
    try:
        next(work)
    except StopIteration as done:
        return Answer(correlation, done.value)
    return Answer(correlation, work)


class Rests:
    """Tells work when to rest: after so many items."""

    __slots__ = ("_done", "_every")

    def __init__(self, every: int = 100) -> None:
        self._done, self._every = 0, every

    def due(self) -> bool:
        """One item more is about to be handled: whether others shall have their turn before."""
        self._done += 1
        return self._done % self._every == 0


class ApiVersions(Request):
    __slots__ = ()
    body: "ApiVersionsRequest | None"


class Metadata(Request):
    __slots__ = ()
    body: "MetadataRequest"


class Produce(Request):
    __slots__ = ()
    body: "ProduceRequest"


class Fetch(Request):
    __slots__ = ()
    body: "FetchRequest"


class ListOffsets(Request):
    __slots__ = ()
    body: "ListOffsetsRequest"


class OffsetForLeaderEpoch(Request):
    __slots__ = ()
    body: "OffsetForLeaderEpochRequest"


class InitProducerId(Request):
    __slots__ = ()
    body: "InitProducerIdRequest"


class AddPartitionsToTxn(Request):
    """Up to version 3 the body has the fields of one transaction, later a list of them."""

    __slots__ = ()
    body: "AddPartitionsToTxnRequest | AddToOneTxnRequest"


class AddOffsetsToTxn(Request):
    __slots__ = ()
    body: "AddOffsetsToTxnRequest"


class EndTxn(Request):
    __slots__ = ()
    body: "EndTxnRequest"


class WriteTxnMarkers(Request):
    __slots__ = ()
    body: "WriteTxnMarkersRequest"


class DescribeProducers(Request):
    __slots__ = ()
    body: "DescribeProducersRequest"


class DescribeTransactions(Request):
    __slots__ = ()
    body: "DescribeTransactionsRequest"


class ListTransactions(Request):
    __slots__ = ()
    body: "ListTransactionsRequest"


class CreateTopics(Request):
    __slots__ = ()
    body: "CreateTopicsRequest"


class DeleteTopics(Request):
    __slots__ = ()
    body: "DeleteTopicsRequest"


class CreatePartitions(Request):
    __slots__ = ()
    body: "CreatePartitionsRequest"


class DeleteRecords(Request):
    __slots__ = ()
    body: "DeleteRecordsRequest"


class DescribeConfigs(Request):
    __slots__ = ()
    body: "DescribeConfigsRequest"


class AlterConfigs(Request):
    __slots__ = ()
    body: "AlterConfigsRequest"


class IncrementalAlterConfigs(Request):
    __slots__ = ()
    body: "IncrementalAlterConfigsRequest"


class DescribeCluster(Request):
    __slots__ = ()
    body: "DescribeClusterRequest"


class ListConfigResources(Request):
    __slots__ = ()
    body: "ListConfigResourcesRequest"


class DescribeTopicPartitions(Request):
    __slots__ = ()
    body: "DescribeTopicPartitionsRequest"


class DescribeShareGroupOffsets(Request):
    __slots__ = ()
    body: "DescribeShareGroupOffsetsRequest"


class SaslHandshake(Request):
    __slots__ = ()
    body: "SaslHandshakeRequest"


class SaslAuthenticate(Request):
    __slots__ = ()
    body: "SaslAuthenticateRequest"


class DescribeAcls(Request):
    __slots__ = ()
    body: "DescribeAclsRequest"


class CreateAcls(Request):
    __slots__ = ()
    body: "CreateAclsRequest"


class DeleteAcls(Request):
    __slots__ = ()
    body: "DeleteAclsRequest"


class AskedNothing(Request):
    """A request about groups of which nothing is left to be asked; it is answered with no body, and the codec makes the
    answer."""

    __slots__ = ()


TYPES: Final[Mapping[int, type[Request]]] = {
    0: Produce,
    1: Fetch,
    2: ListOffsets,
    3: Metadata,
    17: SaslHandshake,
    18: ApiVersions,
    19: CreateTopics,
    20: DeleteTopics,
    21: DeleteRecords,
    22: InitProducerId,
    23: OffsetForLeaderEpoch,
    24: AddPartitionsToTxn,
    25: AddOffsetsToTxn,
    26: EndTxn,
    27: WriteTxnMarkers,
    29: DescribeAcls,
    30: CreateAcls,
    31: DeleteAcls,
    32: DescribeConfigs,
    33: AlterConfigs,
    36: SaslAuthenticate,
    37: CreatePartitions,
    44: IncrementalAlterConfigs,
    60: DescribeCluster,
    61: DescribeProducers,
    65: DescribeTransactions,
    66: ListTransactions,
    74: ListConfigResources,
    75: DescribeTopicPartitions,
    90: DescribeShareGroupOffsets,
}
"""API key to the type of its requests."""
KEYS: Final[Mapping[type[Request], int]] = {kind: key for key, kind in TYPES.items()}
