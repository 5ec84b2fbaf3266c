"""Names that stand in: what a file or folder is called where the text does not name its group or topic."""

import re
from functools import lru_cache
from pathlib import PurePath

from compare.reading.blocks import SourceText

_VIEW = r"(?:mqadmin[._-])?(?:consumerProgress|consumerConnection|consumerStatus|topicRoute|allocateMQ)"
_OPTIONS = r"(?:[._-](?:[a-z]|\d+|all|unsorted|stdout|stderr|out|err))*"
_BARE = re.compile(rf"(?:{_VIEW}|progress|connections?|status|route){_OPTIONS}|", re.IGNORECASE)
_TRAILING = re.compile(rf"(.+?)[._-]{_VIEW}{_OPTIONS}", re.IGNORECASE)
_LEADING = re.compile(rf"{_VIEW}[._-](.+)", re.IGNORECASE)


def is_called_like_view(source: SourceText) -> bool:
    """Whether the file is called like a view of mqadmin, so that its folder has the name that matters."""
    return _BARE.fullmatch(source.stem) is not None


def stand_in(source: SourceText) -> str | None:
    """The name that the file, else its folder, is called by; None if neither has one (standard input)."""
    if is_called_like_view(source):
        return source.folder or None
    if source.command is not None and source.command.topic is not None:
        return source.command.topic
    return _beside_view(source) or source.stem


def topic_name(source: SourceText) -> str | None:
    """The topic that a route is about, which its text does not name: ``TopicX.topicRoute.txt`` or ``NAME=FILE``."""
    if source.command is not None and source.command.topic is not None:
        return source.command.topic
    return _beside_view(source) or source.given_group or stand_in(source)


def folder_of(source: SourceText) -> str:
    """The path of the source's folder."""
    return _parent(source.name)


@lru_cache(1 << 10)
def _parent(path: str) -> str:
    # A source tells of thousands of facts, one after the other.
    return str(PurePath(path).parent)


def _beside_view(source: SourceText) -> str | None:
    if is_called_like_view(source):
        return None
    found = _TRAILING.fullmatch(source.stem) or _LEADING.fullmatch(source.stem)
    return found[1] if found else None
