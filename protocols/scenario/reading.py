"""The door to scenarios: from a file, from a YAML text, from plain Python values.

``registered`` says which systems and strategies there are. Left out, their names are not checked, and a scenario that
names no system has none.
"""

from collections.abc import Mapping
from pathlib import Path

from protocols.errors import UserError
from protocols.scenario.building import build
from protocols.scenario.model import Scenario
from protocols.scenario.systems import Systems
from protocols.scenario.validation import PartError, path_text

LARGEST = 64 * 1024 * 1024
"""Files above this many bytes are no scenario."""


def read(path: str | Path, registered: Systems | None = None) -> Scenario:
    """The scenario in a YAML file. Raises `UserError`: one line that names the file, the line and the field."""
    return read_text(file_text(path), str(path), registered)


def file_text(path: str | Path, what: str = "scenario") -> str:
    """The text of a YAML file, which is to be a ``what``. Raises `UserError`: one line that names the file."""
    source = str(path)
    try:
        if Path(path).stat().st_size > LARGEST:
            raise UserError(f"{source}: larger than {LARGEST >> 20} MiB, expected a {what}")
        raw = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{source}: cannot be read: {error.strerror}, expected a {what} file") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(f"{source} line {line}: no UTF-8, expected a YAML text") from None


def read_text(text: str, source: str = "scenario", registered: Systems | None = None) -> Scenario:
    """The scenario in a YAML text; ``source`` is what errors call it. Raises `UserError` as `read` does."""
    from protocols.scenario.yaml_values import parse  # scenarios made by programs need no YAML

    parsed = parse(text, source)
    try:
        return build(parsed.value, registered)
    except PartError as wrong:
        raise refusal(f"{source} line {parsed.line(wrong.path)}", wrong) from None


def scenario(
    given: Mapping[str, object] | None = None, /, *, registered: Systems | None = None, **fields: object
) -> Scenario:
    """The same from plain Python values: nested mappings and lists with the same fields and shorthands as a file.

    ``scenario(name="...", topics={"orders": 4}, group={...}, run={"for": "5min"}, events=[{"at": "10s", ...}])``, or
    one mapping with all of it. A float as a duration is in milliseconds. Raises `UserError` that names the field.
    """
    try:
        return build({**(given or {}), **fields}, registered)
    except PartError as wrong:
        raise refusal("scenario", wrong) from None


def refusal(where: str, wrong: PartError) -> UserError:
    """What is wrong with a part, in one line; ``where``: file and line."""
    path = path_text(wrong.path)
    return UserError(" ".join(f"{where}: {path + ': ' if path else ''}{wrong.problem}".split()))
