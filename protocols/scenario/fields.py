"""What the fields of a scenario's parts hold, and what all parts have in common."""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from protocols.scenario.units import latency_of, milliseconds, per_second

Duration: TypeAlias = Annotated[float, BeforeValidator(milliseconds)]
"""Milliseconds, not negative."""

Rate: TypeAlias = Annotated[float, BeforeValidator(per_second)]
"""Per second, not negative; written ``10/s``, ``600/min``."""

Count: TypeAlias = Annotated[int, Field(strict=True, ge=0)]
"""A whole number from 0 on."""

Number: TypeAlias = Annotated[int, Field(strict=True, ge=1)]
"""A whole number from 1 on."""

Share: TypeAlias = Annotated[float, Field(ge=0)]
"""A number from 0 on."""

EACH_MEMBER = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
"""Marks the first field of an event of one member: a list or a range of names there means such an event of each."""

EachMember: TypeAlias = Annotated[str, EACH_MEMBER]
"""The name of a member; one may write ``[c1, c2]`` or ``c1..c8`` for an event of each of them."""

LatencyRange: TypeAlias = Annotated[tuple[float, float], BeforeValidator(latency_of)]
"""Least and most, in milliseconds; written ``2ms``, ``1ms..5ms``."""


Settings: TypeAlias = dict[str, Any]
"""Settings of clients or brokers by the names that their system gives them; the system checks the values."""


class Part(BaseModel):
    """A part of a scenario: it never changes and has no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)
