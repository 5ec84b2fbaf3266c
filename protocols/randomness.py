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


def stream_of(*parts: object) -> bytes:
    """The beginning of the numbers of a stream of choices; see `choice`."""
    return "".join(f"{part}\x1f" for part in parts).encode("utf-8", "surrogatepass")


def choice(limit: int, stream: bytes, number: int) -> int:
    """`number_below` of the stream's parts and ``number``, for those who need many of one stream."""
    return int.from_bytes(blake2b(b"%s%d" % (stream, number), digest_size=8).digest(), "big") * limit >> 64


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
