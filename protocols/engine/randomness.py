"""Randomness by counting: the n-th number of a stream is a function of the seed, the stream's name and n.

No number depends on how many others were drawn elsewhere, so leaving something out shifts nothing.
"""

from hashlib import blake2b
from struct import Struct

WORDS = 32
"""Numbers that `words` gives at once."""

STEPS = 4096
"""How many different ones there are: few enough for a table that stays in the processor's cache."""

_WORDS = Struct(f">{WORDS}H")
_MASK = int.from_bytes((STEPS - 1).to_bytes(2, "big") * WORDS, "big")


def digest(*parts: object, size: int = 64) -> bytes:
    """``size`` bytes (1 to 64) that depend on every part and their order; equal on every machine."""
    text = "\x1f".join(map(str, parts))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def number_below(limit: int, *parts: object) -> int:
    """A whole number from 0 to ``limit - 1``, evenly spread (limit at most 2**32; bias below 2**-32)."""
    return int.from_bytes(digest(*parts, size=8), "big") * limit >> 64


class Choices:
    """Choices of one stream, one after the other; each depends on the stream's parts and its number alone."""

    __slots__ = ("_block", "_stream", "_words", "made")

    def __init__(self, *parts: object, made: int = 0) -> None:
        """``parts`` of the stream; so many choices were ``made`` before."""
        self._stream = "\x1f".join(map(str, parts))
        self._block = -1
        self._words: tuple[int, ...] = ()
        self.made = made
        """How many choices were made so far."""

    def ahead(self) -> "Choices":
        """The same from here on, counted for itself."""
        ahead: Choices = object.__new__(Choices)
        ahead._stream, ahead._block, ahead._words, ahead.made = self._stream, self._block, self._words, self.made
        return ahead

    def next(self, limit: int) -> int:
        """The next choice, from 0 to ``limit - 1`` (limit at most 2**16; bias below limit / 2**16)."""
        made = self.made
        self.made = made + 1
        if limit == 1:
            return 0
        if made // WORDS != self._block:
            self._read(made // WORDS)
        return self._words[made % WORDS] * limit >> 16

    def _read(self, block: int) -> None:
        self._block, self._words = block, _WORDS.unpack(_drawn(self._stream, block))


def uuid_like(*parts: object) -> str:
    """A text in the form of a version-4 UUID."""
    text = digest(*parts, size=16).hex()
    variant = "89ab"[int(text[16], 16) % 4]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def words(stream: str, number: int) -> tuple[int, ...]:
    """32 whole numbers from 0 to 4,095, evenly spread: block ``number`` of a stream."""
    return _WORDS.unpack((int.from_bytes(_drawn(stream, number), "big") & _MASK).to_bytes(2 * WORDS, "big"))


def _drawn(stream: str, block: int) -> bytes:
    """64 bytes of a stream."""
    return blake2b(f"{block}\x1f{stream}".encode("utf-8", "surrogatepass")).digest()
