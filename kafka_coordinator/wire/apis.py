"""The APIs that are served, each with its versions and what a request of it becomes.

An API of groups is translated into the coordinator's messages; a request of any other is given to a handler as it was
read (`kafka_coordinator.wire.requests`).
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from kio.schema.index import api_key_map
from kio.static.protocol import Entity

from kafka_coordinator.versions import VERSIONS
from kafka_coordinator.wire import (
    group_membership,
    group_offsets,
    group_views,
    lengths,
    requests,
    schemas,
    share_groups,
    share_records,
)
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


_TRANSLATIONS: Final[Mapping[int, Translation]] = {
    **group_membership.TRANSLATIONS,
    **group_offsets.TRANSLATIONS,
    **group_views.TRANSLATIONS,
    **share_groups.TRANSLATIONS,
    **share_records.TRANSLATIONS,
}
_HIGHEST: Final[Mapping[int, Mapping[str, int]]] = {
    2: {"4.1": 10, "4.4": 11},
    8: {"4.1": 9, "4.4": 10},
    9: {"4.1": 9, "4.4": 10},
    18: {"4.1": 4, "4.4": 5},
    22: {"4.1": 5},
    27: {"4.1": 1, "4.4": 2},
    28: {"4.1": 5, "4.4": 6},
    42: {"4.1": 2, "4.4": 3},
}
"""API key to the highest version that Kafka offers since which of its versions, where there are schemas of higher ones
for others: those are offered only with ``unstable.api.versions.enable``, or not at all. Of 4.1.0 and 4.4.0 a broker's
answer is recorded; those between offer what 4.1.0 does."""


def _api(key: int, version: str) -> Api:
    name = api_key_map[key]
    versions = schemas.versions(key)
    limits = [most for since, most in _HIGHEST.get(key, {}).items() if VERSIONS.holds(since, version)]
    highest = min([versions[-1], *limits[-1:]])
    words = "".join(word.capitalize() for word in name.split("_"))
    return Api(key, words, (versions[0], highest), requests.TYPES.get(key), _TRANSLATIONS.get(key))


_SINCE: Final[Mapping[int, str]] = dict.fromkeys((76, 77, 78, 79, 90, 91, 92), "4.2")
"""API key to the version of Kafka since which it is served: before, share groups were a preview."""

_KEYS: Final = sorted((*requests.TYPES, *_TRANSLATIONS))
APIS_OF: Final[Mapping[str, Mapping[int, Api]]] = {
    version: {key: _api(key, version) for key in _KEYS if VERSIONS.holds(_SINCE.get(key, "4.1"), version)}
    for version in VERSIONS
}
"""Version of Kafka to API key to the API."""
APIS: Final = APIS_OF[VERSIONS.newest.name]
"""Those of the newest version, which has all that the others have."""


class Codec(NamedTuple):
    """How one version of one API is read."""

    read: Callable[[lengths.Raw, int], Entity]
    """Bytes and where the body begins, to the body. Raises `WireError`, or whatever the codec raises."""
    is_flexible: bool
    """Whether tagged fields stand at the end of the request's header."""


@cache
def codec(key: int, version: int) -> Codec:
    """Of a version that `APIS` has."""
    schema = schemas.request_schema(key, version)
    return Codec(lengths.reader(schema), schema.__header_schema__.__version__ >= 2)
