"""What stands in a RocketMQ message beside its body: properties, which a record here keeps in its headers."""

from collections.abc import Mapping
from typing import Final

from compare.testing.contents import Content
from protocols.engine.randomness import digest
from protocols.queues import Queue

KEYS: Final = "KEYS"
TAGS: Final = "TAGS"
MESSAGE_ID: Final = "UNIQ_KEY"
SHARDING_KEY: Final = "__SHARDINGKEY"
OF_THE_SYSTEM: Final = frozenset((KEYS, TAGS, MESSAGE_ID, SHARDING_KEY))
"""Names that are not the user's own."""


def content_of(body: bytes, properties: Mapping[str, str]) -> Content:
    """A record as a producer sends it."""
    key = properties.get(KEYS)
    headers = [(name, value.encode()) for name, value in properties.items()]
    return Content(body, None if key is None else key.encode(), headers)


def properties_of(content: Content) -> dict[str, str]:
    """The properties of a record; its key stands among them as `KEYS`, also where no producer of a test wrote it."""
    found = {name: value.decode(errors="replace") for name, value in content.headers or []}
    if content.key is not None:
        found.setdefault(KEYS, content.key.decode(errors="replace"))
    return found


def message_id(content: Content, queue: Queue, offset: int) -> str:
    """The id that the producer gave, else one made from where the record stands."""
    given = properties_of(content).get(MESSAGE_ID)
    return given or new_id(*queue, offset)


def new_id(*parts: object) -> str:
    """34 hexadecimal digits, as clients of the 5.x line make ids."""
    return "01" + digest("message id", *parts, size=16).hex().upper()
