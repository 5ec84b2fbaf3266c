"""From a line of a file to a checked record."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from compare.conformance.cases import Line, MalformedCase

M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], line: Line) -> M:
    """The record that the line is. Raises `MalformedCase` naming the first field at fault."""
    try:
        return model.model_validate(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, first["loc"])) or "line"
        raise MalformedCase(path, first["msg"], first.get("input")) from None
