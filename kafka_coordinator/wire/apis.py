"""The APIs that are served, each with its versions and what a request of it becomes.

An API of groups is translated into the coordinator's messages; a request of any other is given to a handler as it was
read (`kafka_coordinator.wire.requests`).
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from kio.index import load_request_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.static.protocol import Entity

from kafka_coordinator.wire import group_membership, group_offsets, group_views, lengths, requests
from kafka_coordinator.wire.requests import Request
from kafka_coordinator.wire.state import Translation


class Api(NamedTuple):
    """One API. ``name`` is Kafka's; ``versions`` those that are served, lowest and highest."""

    key: int
    name: str
    versions: tuple[int, int]
    request: type[Request] | None
    """Type of its requests; None where they are translated."""
    translation: Translation | None


_REQUESTS: Final[Mapping[int, type[Request]]] = {
    0: requests.Produce,
    1: requests.Fetch,
    2: requests.ListOffsets,
    3: requests.Metadata,
    17: requests.SaslHandshake,
    18: requests.ApiVersions,
    19: requests.CreateTopics,
    20: requests.DeleteTopics,
    21: requests.DeleteRecords,
    22: requests.InitProducerId,
    23: requests.OffsetForLeaderEpoch,
    29: requests.DescribeAcls,
    30: requests.CreateAcls,
    31: requests.DeleteAcls,
    32: requests.DescribeConfigs,
    33: requests.AlterConfigs,
    36: requests.SaslAuthenticate,
    37: requests.CreatePartitions,
    44: requests.IncrementalAlterConfigs,
    60: requests.DescribeCluster,
    74: requests.ListConfigResources,
    75: requests.DescribeTopicPartitions,
}
_TRANSLATIONS: Final[Mapping[int, Translation]] = {
    **group_membership.TRANSLATIONS,
    **group_offsets.TRANSLATIONS,
    **group_views.TRANSLATIONS,
}
_HIGHEST: Final[Mapping[int, int]] = {2: 10, 8: 9, 9: 9, 22: 5}
"""Highest versions of Kafka 4.1.0 where the codec has higher ones: those it offers only with
``unstable.api.versions.enable``, or not at all."""


def _api(key: int) -> Api:
    name = api_key_map[key]
    versions = sorted(schema_name_map[name])
    highest = min(versions[-1], _HIGHEST.get(key, versions[-1]))
    words = "".join(word.capitalize() for word in name.split("_"))
    return Api(key, words, (versions[0], highest), _REQUESTS.get(key), _TRANSLATIONS.get(key))


APIS: Final[Mapping[int, Api]] = {key: _api(key) for key in sorted((*_REQUESTS, *_TRANSLATIONS))}
"""API key to the API."""


class Codec(NamedTuple):
    """How one version of one API is read."""

    read: Callable[[bytes, int], Entity]
    """Bytes and where the body begins, to the body. Raises `WireError`, or whatever the codec raises."""
    is_flexible: bool
    """Whether tagged fields stand at the end of the request's header."""


@cache
def codec(key: int, version: int) -> Codec:
    """Of a version that `APIS` has."""
    schema = load_request_schema(key, version)
    return Codec(lengths.reader(schema), schema.__header_schema__.__version__ >= 2)
