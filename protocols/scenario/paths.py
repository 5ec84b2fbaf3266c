"""Where in a scenario a value is."""

from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys of mappings and positions in lists, from the outermost on."""


def path_text(path: Path) -> str:
    """A path as errors show it: ``groups.seed.members.c1``, ``events[3].crash``."""
    text = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return text.removeprefix(".")
