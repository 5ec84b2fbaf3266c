"""The answer to most requests: what became of it, and nothing else."""

from typing import NamedTuple


class Answer(NamedTuple):
    """Done or refused, nothing else to tell."""

    correlation: int
    code: int
