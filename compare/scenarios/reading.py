"""Scenarios that name the systems that are installed: `protocols.scenario.reading` with their strategies handed in."""

from collections.abc import Mapping
from pathlib import Path

from compare.scenarios.systems import known_strategies
from protocols.scenario import reading
from protocols.scenario.model import Scenario


def read(path: str | Path) -> Scenario:
    """The scenario in a YAML file. Raises `UserError`: one line that names the file, the line and the field."""
    return reading.read(path, known_strategies())


def read_text(text: str, source: str = "scenario") -> Scenario:
    """The scenario in a YAML text; ``source`` is what errors call it. Raises `UserError` as `read` does."""
    return reading.read_text(text, source, known_strategies())


def scenario(given: Mapping[str, object] | None = None, /, **fields: object) -> Scenario:
    """The same from plain Python values, see `protocols.scenario.reading.scenario`."""
    return reading.scenario(given, registered=known_strategies(), **fields)
