"""The classes of requests and answers of every version that is served: the codec's, and those of versions of Kafka 4.4
that the codec does not have (`kio` knows the messages of Kafka 4.0 to 4.2).

Source: the message definitions in Kafka 4.4.0's clients (`common/message/*.json`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from kio.index import load_request_schema, load_response_schema
from kio.schema.api_versions.v4 import request as api_versions
from kio.schema.api_versions.v4 import response as api_versions_answer
from kio.schema.delete_groups.v2 import request as delete_groups
from kio.schema.delete_groups.v2 import response as delete_groups_answer
from kio.schema.index import api_key_map, schema_name_map
from kio.schema.offset_commit.v10.request import OffsetCommitRequestTopic
from kio.schema.offset_commit.v10.response import OffsetCommitResponseTopic
from kio.schema.txn_offset_commit.v5 import request as txn_offset_commit
from kio.schema.txn_offset_commit.v5 import response as txn_offset_commit_answer
from kio.static.primitive import i16, i32
from kio.static.protocol import RequestPayload, ResponsePayload


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest(api_versions.ApiVersionsRequest):
    """The client also says whom it believes to talk to (KIP-1242)."""

    __version__: ClassVar[i16] = i16(5)
    cluster_id: str | None = field(metadata={"kafka_type": "string"}, default=None)
    node_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse(api_versions_answer.ApiVersionsResponse):
    """As in version 4."""

    __version__: ClassVar[i16] = i16(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest(delete_groups.DeleteGroupsRequest):
    """As in version 2."""

    __version__: ClassVar[i16] = i16(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletableGroupResult(delete_groups_answer.DeletableGroupResult):
    """With the reason in words, which 4.4.0 has for groups of Kafka Streams alone."""

    __version__: ClassVar[i16] = i16(3)
    error_message: str | None = field(metadata={"kafka_type": "string"}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse(delete_groups_answer.DeleteGroupsResponse):
    __version__: ClassVar[i16] = i16(3)
    results: tuple[DeletableGroupResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequest(txn_offset_commit.TxnOffsetCommitRequest):
    """Topics are named by their ids (KIP-1319), and laid out as in version 10 of OffsetCommit."""

    __version__: ClassVar[i16] = i16(6)
    topics: tuple[OffsetCommitRequestTopic, ...]  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponse(txn_offset_commit_answer.TxnOffsetCommitResponse):
    """The same of the answer."""

    __version__: ClassVar[i16] = i16(6)
    topics: tuple[OffsetCommitResponseTopic, ...]  # type: ignore[assignment]


_OWN: Final[Mapping[tuple[int, int], tuple[type[RequestPayload], type[ResponsePayload]]]] = {
    (18, 5): (ApiVersionsRequest, ApiVersionsResponse),
    (28, 6): (TxnOffsetCommitRequest, TxnOffsetCommitResponse),
    (42, 3): (DeleteGroupsRequest, DeleteGroupsResponse),
}
"""API key and version to the classes of request and answer."""


def versions(key: int) -> list[int]:
    """All versions of an API for which there are classes, ascending."""
    return sorted([*schema_name_map[api_key_map[key]], *(version for own, version in _OWN if own == key)])


def request_schema(key: int, version: int) -> type[RequestPayload]:
    """The class of the API's requests of this version."""
    own = _OWN.get((key, version))
    return load_request_schema(key, version) if own is None else own[0]


def response_schema(key: int, version: int) -> type[ResponsePayload]:
    """The class of the API's answers of this version."""
    own = _OWN.get((key, version))
    return load_response_schema(key, version) if own is None else own[1]
