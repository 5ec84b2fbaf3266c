"""Compressed headers of HTTP/2 (HPACK, RFC 7541): what a client's header blocks say, and the few blocks of a server,
which are written without a table and therefore always the same."""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

Header: TypeAlias = tuple[str, str]
"""Name and value."""

_STATIC: Final = """
:authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204
:status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate
accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control
content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type
cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since
last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after
server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate
"""
_TABLE: Final[tuple[Header, ...]] = tuple(
    (name, value) for name, _, value in (each.partition("=") for each in _STATIC.strip().replace("\n", "|").split("|"))
)
"""The static table; the first entry has the index 1 (RFC 7541, appendix A)."""

_LENGTHS: Final = (
    "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f565"
    "65666577666567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmp"
    "qqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu"
)
"""The length in bits of the code of each symbol, a digit of base 36; the last is the end. The codes are canonical:
lengths say them all (RFC 7541, appendix B)."""

_END: Final = 256
TABLE_BYTES: Final = 4096
"""What a client's table of recent headers may hold: the default of the protocol, which no setting of ours changes."""
_ENTRY_BYTES: Final = 32
"""What a header costs beside its texts."""
MOST_BYTES: Final = 64 * 1024
"""What one list of headers may cost, and how long its block may be."""
_SHORT: Final = 64
"""Bytes of a text that is kept decoded: clients say the same again and again."""


class HeaderError(ValueError):
    """A block that cannot be read; what its connection knows of headers is lost with it. Its text is one line."""


class HeaderReader:
    """Reads the header blocks of one connection, in their order."""

    def __init__(self) -> None:
        self._recent: deque[Header] = deque()
        self._bytes, self._most = 0, TABLE_BYTES

    def read(self, block: bytes) -> list[Header]:
        """The headers of a block. Raises `HeaderError`."""
        try:
            return self._read(block)
        except IndexError:
            raise HeaderError("a header block ends within a header, or names one that is not there") from None

    def _read(self, block: bytes) -> list[Header]:
        headers: list[Header] = []
        at, end, size = 0, len(block), 0
        while at < end:
            first = block[at]
            if first & 0x80:
                index, at = _number(block, at, 0x7F)
                header = self._entry(index)
            elif first & 0x40:
                header, at = self._literal(block, at, 0x3F)
                self._keep(header)
            elif first & 0x20:
                self._most, at = _number(block, at, 0x1F)
                if headers or self._most > TABLE_BYTES:
                    raise HeaderError(f"a header table of {self._most} bytes, at most {TABLE_BYTES} were offered")
                self._forget()
                continue
            else:
                header, at = self._literal(block, at, 0x0F)
            size += len(header[0]) + len(header[1]) + _ENTRY_BYTES
            if size > MOST_BYTES:
                raise HeaderError(f"headers of more than {MOST_BYTES} bytes")
            headers.append(header)
        return headers

    def _entry(self, index: int) -> Header:
        if not index:
            raise HeaderError("a header with the index 0")
        return _TABLE[index - 1] if index <= len(_TABLE) else self._recent[index - 1 - len(_TABLE)]

    def _literal(self, block: bytes, at: int, mask: int) -> tuple[Header, int]:
        index, at = _number(block, at, mask)
        if index:
            name = self._entry(index)[0]
        else:
            name, at = _text(block, at)
        value, at = _text(block, at)
        return (name, value), at

    def _keep(self, header: Header) -> None:
        self._recent.appendleft(header)
        self._bytes += len(header[0]) + len(header[1]) + _ENTRY_BYTES
        self._forget()

    def _forget(self) -> None:
        while self._bytes > self._most:
            name, value = self._recent.pop()
            self._bytes -= len(name) + len(value) + _ENTRY_BYTES


def _number(block: bytes, at: int, mask: int) -> tuple[int, int]:
    number = block[at] & mask
    at += 1
    if number < mask:
        return number, at
    shift = 0
    while True:
        byte = block[at]
        at += 1
        number += (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > 28:
            raise HeaderError("a number of more than five bytes")


def _text(block: bytes, at: int) -> tuple[str, int]:
    compressed = block[at] & 0x80
    length, at = _number(block, at, 0x7F)
    end = at + length
    if end > len(block):
        raise HeaderError("a text ends behind its header block")
    raw = block[at:end]
    if not compressed:
        return raw.decode("latin-1"), end
    return (_short_decompressed if length <= _SHORT else _decompressed)(raw), end


def _symbols() -> Mapping[tuple[int, int], int]:
    """Length and code to the symbol."""
    lengths = [int(digit, 36) for digit in _LENGTHS]
    found: dict[tuple[int, int], int] = {}
    code = before = 0
    for symbol in sorted(range(len(lengths)), key=lambda symbol: (lengths[symbol], symbol)):
        code <<= lengths[symbol] - before
        before = lengths[symbol]
        found[before, code] = symbol
        code += 1
    return found


_SYMBOLS: Final = _symbols()


def _decompressed(raw: bytes) -> str:
    out = bytearray()
    code = length = 0
    for byte in raw:
        for bit in range(7, -1, -1):
            code = code << 1 | byte >> bit & 1
            length += 1
            symbol = _SYMBOLS.get((length, code))
            if symbol is None:
                continue
            if symbol == _END:
                raise HeaderError("a compressed text that goes on behind its end")
            out.append(symbol)
            code = length = 0
    if length > 7 or code != (1 << length) - 1:
        raise HeaderError("a compressed text that is padded wrongly")
    return out.decode("latin-1")


_short_decompressed = lru_cache(maxsize=1024)(_decompressed)


_PSEUDO: Final = frozenset((":method", ":scheme", ":path", ":authority"))
_NEEDED: Final = {":method", ":scheme", ":path"}
_OF_CONNECTIONS: Final = frozenset(("connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"))
"""What HTTP/1.1 says about its connections: it has no place here."""


def is_request(headers: Sequence[Header]) -> bool:
    """Whether these headers can begin a request (RFC 9113, 8.2 and 8.3)."""
    seen: set[str] = set()
    has_begun = False
    for name, value in headers:
        if name[:1] == ":":
            if has_begun or name in seen or name not in _PSEUDO or not value:
                return False
            seen.add(name)
        else:
            has_begun = True
            if name in _OF_CONNECTIONS or (name == "te" and value != "trailers") or name != name.lower():
                return False
    return seen >= _NEEDED


def block_of(headers: Mapping[str, str]) -> bytes:
    """A header block that says this, without any table."""
    out = bytearray()
    for name, value in headers.items():
        out.append(0)
        for text in (name.encode(), value.encode()):
            out += _length(len(text)) + text
    return bytes(out)


def _length(number: int) -> bytes:
    if number < 0x7F:
        return bytes((number,))
    out, number = bytearray((0x7F,)), number - 0x7F
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
