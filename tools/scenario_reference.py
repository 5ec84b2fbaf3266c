"""The reference of the scenario file, made from the models: every field, its kind and default, what it means.

``python -m tools.scenario_reference`` prints it; `docs/scenario.md` holds it, and a test keeps them equal.
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from protocols.scenario import fields, model
from protocols.scenario.events import EVENT_KINDS, Event
from protocols.scenario.fields import (
    Count,
    CountRange,
    Duration,
    EachMember,
    LatencyRange,
    Number,
    Rate,
    Share,
    duration_text,
)

EXAMPLES: Mapping[type[BaseModel], str] = {
    model.Scenario: "name: four members, two topics",
    fields.TopicPart: "topics: {orders: {queues: 4}, payments: {queues: {broker-a: 2}}, audit: 2, t1..t9: 3}",
    fields.GroupPart: "group: {name: billing, members: {c1: {subscribe: [orders]}, c2: [orders, payments]}}",
    fields.MemberPart: "c1..c20: {subscribe: [orders], handle: 20ms, settings: {session.timeout.ms: 6000}}",
    model.LoadPart: "load: {produce: 10/s, rates: {orders: 50/s, payments-1: 400/s}, keys: {t1: zipf 1.2}}",
    model.ScalePart: "scale: {group: billing, lag: 10000, between: 2..20, every: 30s}",
    model.RunPart: "run: {for: 5min, seed: 1, latency: 1ms..5ms}",
    model.SystemPart: "systems: [kafka:range, {system: rocketmq:CONSISTENT_HASH, label: more points, "
    "settings: {virtual_nodes: 100}}]",
    model.ExpectPart: "expect: {settles_within: 60s, in_order: true}",
}
"""An example of each part but the events, which bring their own; a test reads them all."""

_TITLES: Mapping[type[BaseModel], str] = {
    model.Scenario: "The scenario",
    fields.TopicPart: "A topic",
    fields.GroupPart: "A group",
    fields.MemberPart: "A member",
    model.LoadPart: "`load`",
    model.ScalePart: "`scale`",
    model.RunPart: "`run`",
    model.SystemPart: "A system",
    model.ExpectPart: "`expect`",
}

_KINDS: tuple[tuple[object, str], ...] = (
    (Duration, "duration (`5s`)"),
    (Rate, "rate (`10/s`)"),
    (LatencyRange, "duration, or two (`1ms..5ms`)"),
    (CountRange, "two whole numbers (`4..20`)"),
    (Count, "whole number, not negative"),
    (Number, "whole number from 1 on"),
    (Share, "number, not negative"),
    (EachMember, "text; a list or range: an event of each"),
    (str, "text"),
    (bool, "`true` or `false`"),
    (int, "whole number"),
    (float, "number"),
    (Any, "anything"),
    (Event, "an event, see below"),
    *((kind, title.lower()) for kind, title in _TITLES.items()),
)


def reference() -> str:
    """The reference as Markdown, one section per part."""
    parts = [_section(title, kind, (), EXAMPLES[kind]) for kind, title in _TITLES.items()]
    parts.append([*_head("An event", _joined(inspect.getdoc(Event) or "")), *_table(Event, ())])
    parts += [_section(f"Event `{name}`", kind, Event.model_fields, kind.example) for name, kind in EVENT_KINDS.items()]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _section(title: str, kind: type[BaseModel], common: Collection[str], example: str) -> list[str]:
    more: list[str] = []
    if kind is not fields.MemberPart and kind.model_fields.keys() >= fields.MemberPart.model_fields.keys():
        common = (*common, *fields.MemberPart.model_fields)
        more = ["", "And the fields of a member."]
    head = _head(title, _joined(inspect.getdoc(kind) or ""))
    return [*head, *_table(kind, common), *more, "", f"Example: `{example}`"]


def _head(title: str, text: str) -> list[str]:
    return [f"### {title}", "", text, ""]


def _table(kind: type[BaseModel], left_out: Collection[str]) -> Iterator[str]:
    yield "| field | kind | default | meaning |"
    yield "|---|---|---|---|"
    meanings = _meanings(kind)
    for name, field in kind.model_fields.items():
        if name not in left_out:
            annotation: object = field.annotation
            if field.metadata:
                annotation = Annotated[(annotation, *field.metadata)]
            default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
            if annotation == Duration and not field.is_required() and field.default:
                default = f"`{duration_text(field.default)}`"
            yield f"| `{field.alias or name}` | {_kind(annotation)} | {default} | {meanings[name]} |"


def _default(value: object) -> str:
    if isinstance(value, BaseModel) or value in (None, "", (), {}):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value == model.RunPart.model_fields["latency"].default:
        return "`1ms..5ms`"
    return (
        f"`[{', '.join(value)}]`"
        if isinstance(value, tuple)
        else f"`{value:g}`"
        if isinstance(value, float)
        else f"`{value}`"
    )


def _kind(annotation: object) -> str:
    for known, text in _KINDS:
        if annotation == known:
            return text
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in inner)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in (Union, types.UnionType):
        rest = [each for each in inner if each is not type(None)]
        return _kind(rest[0])
    if origin is tuple:
        return f"list of: {_kind(inner[0])}"
    if origin is dict:
        return f"by name: {_kind(inner[1])}"
    raise TypeError(f"no words for fields of type {annotation!r}")


def _meanings(kind: type[BaseModel]) -> dict[str, str]:
    """Field to the text below it in the model's source, those of the classes it builds on too."""
    meanings: dict[str, str] = {}
    for each in reversed(kind.__mro__[: kind.__mro__.index(BaseModel)]):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(definition, ast.ClassDef)
        for field, text in zip(definition.body, definition.body[1:], strict=False):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(meaning))):
                    meanings[name] = _joined(meaning)
    return meanings


def _joined(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


if __name__ == "__main__":
    print(reference(), end="")
