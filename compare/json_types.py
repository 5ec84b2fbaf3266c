"""JSON as Python has it after parsing, or before writing: for values whose shape is not known, or is of no matter.

Documents whose shape is known have types of their own: `compare.documents.audit` and `compare.documents.comparison`.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A JSON value. Arrays and objects are read-only here, so that a ``list[str]`` is one as well."""
