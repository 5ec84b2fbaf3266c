"""Randomness by counting: the n-th number of a stream is a function of the seed, the stream's name and n.

No number depends on how many others were drawn elsewhere, so leaving something out shifts nothing.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from struct import Struct, unpack

WORDS = 32
"""Numbers that `words` gives at once."""

STEPS = 4096
"""How many different ones there are: few enough for a table that stays in the processor's cache."""

_WORDS = Struct(f">{WORDS}H")
_FIRST = 256
"""How many first bytes there are."""

_MASK = int.from_bytes((STEPS - 1).to_bytes(2, "big") * WORDS, "big")


def digest(*parts: object, size: int = 64) -> bytes:
    """``size`` bytes (1 to 64) that depend on every part and their order; equal on every machine."""
    text = "\x1f".join(map(str, parts))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def number_below(limit: int, *parts: object) -> int:
    """A whole number from 0 to ``limit - 1``, evenly spread (limit at most 2**32; bias below 2**-32)."""
    return int.from_bytes(digest(*parts, size=8), "big") * limit >> 64


class Choices:
    """Choices of one stream, counted from 1: each is what `number_below` gives for the stream's parts and number."""

    __slots__ = ("copy", "made")

    def __init__(self, *parts: object, made: int = 0) -> None:
        """``parts`` of the stream; so many choices were ``made`` before."""
        begun = "".join([f"{part}\x1f" for part in parts])
        self.copy = blake2b(begun.encode("utf-8", "surrogatepass"), digest_size=8).copy
        self.made = made
        """How many choices were made so far."""

    def ahead(self) -> "Choices":
        """The same from here on, counted for itself."""
        ahead: Choices = object.__new__(Choices)
        ahead.copy, ahead.made = self.copy, self.made
        return ahead

    def next(self, limit: int) -> int:
        """The next choice, from 0 to ``limit - 1``."""
        self.made += 1
        if limit == 1:
            return 0
        drawn = self.copy()
        drawn.update(b"%d" % self.made)
        return int.from_bytes(drawn.digest(), "big") * limit >> 64


def tally(streams: Sequence[Choices], limit: int) -> list[int]:
    """The next choice of each stream: how many chose 0, 1, ... ``limit - 1``."""
    digests = bytearray()
    before, text = -1, b""
    for stream in streams:
        if stream.made != before:
            before = stream.made
            text = b"%d" % (before + 1)
        stream.made = before + 1
        drawn = stream.copy()
        drawn.update(text)
        digests += drawn.digest()
    if limit & (limit - 1) or limit > _FIRST:
        found = [0] * limit
        for number in unpack(f">{len(streams)}Q", digests):
            found[number * limit >> 64] += 1
        return found
    # The first bits of each number say it.
    firsts = digests[::8].translate(_chosen_by_first(limit))
    return [firsts.count(each) for each in range(limit)]


@cache
def _chosen_by_first(limit: int) -> bytes:
    return bytes([first * limit // _FIRST for first in range(_FIRST)])


def uuid_like(*parts: object) -> str:
    """A text in the form of a version-4 UUID."""
    text = digest(*parts, size=16).hex()
    variant = "89ab"[int(text[16], 16) % 4]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def words(stream: str, number: int) -> tuple[int, ...]:
    """32 whole numbers from 0 to 4,095, evenly spread: block ``number`` of a stream."""
    text = f"{number}\x1f{stream}"
    drawn = blake2b(text.encode("utf-8", "surrogatepass")).digest()
    return _WORDS.unpack((int.from_bytes(drawn, "big") & _MASK).to_bytes(2 * WORDS, "big"))
