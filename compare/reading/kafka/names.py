"""Names of groups, members and clients as the tables show them."""

import re
from collections.abc import Sequence
from functools import lru_cache

from compare.reading.blocks import SourceText
from compare.reading.kafka.rows import MISSING, RowError, name

_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CUT_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{0,11})?")
_UUID_LENGTH = 37
_BASE64_UUID = re.compile(r"[A-Za-z0-9_-]{22}")


def group_of(cells: Sequence[str], at: int | None, source: SourceText) -> str:
    """The row's group; tools before 2.2 print none, so the name given with the file or the file's stands in.

    Blanks at the end of a group id cannot be told from the column's padding and are left out.
    """
    if at is not None:
        return name(cells[at], "GROUP")
    if source.told_group or source.stem:
        return source.told_group or source.stem
    raise RowError("the text does not name the group, expected NAME=FILE")


def client_id(cell: str, consumer: str) -> str | None:
    """The client id, None where it is empty.

    In the classic protocol a consumer id is the client id (or the instance id), ``-`` and a UUID: it tells
    where the client id ends, which the padded cell does not.
    """
    shown = cell.rstrip(" ")
    prefix = consumer[:-_UUID_LENGTH]
    if prefix.rstrip(" ") == shown and _UUID.fullmatch(consumer[-_UUID_LENGTH:]):
        return prefix or None
    return shown or None


def is_host(host: str) -> bool:
    """Whether it is an address as Java prints it, with a slash before the numbers, or ``-``."""
    return (host == MISSING or "/" in host) and " " not in host


@lru_cache(maxsize=4096)
def is_consumer_id(consumer: str, client: str) -> bool:
    """Whether a row's consumer id is whole. Blanks can only come from the client id, with which the id begins then
    (instance ids hold none); behind the client id stands a whole UUID."""
    if " " in consumer and consumer[:-_UUID_LENGTH].rstrip(" ") != client.rstrip(" "):
        return False
    return not (client and consumer.startswith(client)) or _CUT_UUID.fullmatch(consumer, len(client)) is None


def speaks_consumer_protocol(consumer: str) -> bool | None:
    """Whether a consumer id was made in the consumer protocol (KIP-848); None where its form is of neither protocol.

    There it is a UUID in base64, in the classic protocol it ends with a UUID in hexadecimal.
    """
    if _BASE64_UUID.fullmatch(consumer):
        return True
    return False if _UUID.fullmatch(consumer[-_UUID_LENGTH:]) else None
