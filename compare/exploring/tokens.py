"""A story as one word, to be told again anywhere: the variant, the property, the bounds and all actions."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import Final, NamedTuple
from zlib import compress, crc32, decompress
from zlib import error as ZlibError  # noqa: N812 - a class

from protocols.engine.exploration import Action, Bounds
from protocols.engine.exploration.states import DELIVER, FIRE, HAPPEN
from protocols.errors import UserError
from protocols.scenario.model import Scenario

VERSION: Final = 1

_KINDS: Final = {DELIVER: "d", FIRE: "t", HAPPEN: "e"}
_MOST_BYTES: Final = 1 << 24


class Token(NamedTuple):
    """``system``: the variant's label. ``fingerprint`` of the scenario, so that another one is noticed."""

    system: str
    property: str
    bounds: Bounds
    actions: tuple[Action, ...]
    fingerprint: int


def fingerprint(scenario: Scenario) -> int:
    """Equal for scenarios in which the same can happen."""
    told = scenario.model_dump(mode="json", exclude={"name", "about", "systems", "expect"}, fallback=str)
    return crc32(json.dumps(told, sort_keys=True).encode())


def written(token: Token) -> str:
    """The token as a word of letters, digits, hyphens and underscores."""
    actions = [[_KINDS[each.kind], each.of, each.what, *each.choices] for each in token.actions]
    fields = [VERSION, token.fingerprint, token.system, token.property, list(token.bounds), actions]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return urlsafe_b64encode(compress(text.encode(), 9)).decode().rstrip("=")


def read_token(text: str) -> Token:
    """The token that was written so. Raises `UserError` for any other text."""
    kinds = {letter: kind for kind, letter in _KINDS.items()}
    try:
        content = urlsafe_b64decode(text.strip().encode() + b"=" * (-len(text.strip()) % 4))
        version, mark, system, name, bounds, actions = json.loads(decompress(content, bufsize=_MOST_BYTES))
        if version != VERSION:
            raise UserError(f"--replay: a token of version {version}, expected one of version {VERSION}")
        found = tuple([Action(kinds[each[0]], each[1], each[2], tuple(each[3:])) for each in actions])
        return Token(str(system), str(name), Bounds(*bounds), found, int(mark))
    except (Error, ZlibError, ValueError, TypeError, KeyError, IndexError, UnicodeError):
        raise UserError("--replay: expected a token that `equipoise explore` printed") from None
