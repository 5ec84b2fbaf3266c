"""The copies that classes of state have from the types of their fields."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.exploration.rules import Keys
from protocols.node_state import Apart, Emptied, NodeState, Shared, fields_of
from tests.rows import rows


class Offset(NamedTuple):
    number: int
    text: str


@dataclass(slots=True)
class Part(NodeState):
    counts: dict[str, int]
    seen: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Whole(NodeState):
    name: str
    offset: Offset | None
    part: Part
    other: Part | None
    numbers: list[int]
    tables: dict[str, dict[int, Offset]]
    parts: dict[int, Part]
    line: list[Part]
    read: Mapping[str, int]
    rest: Shared[Any] = None
    note: Apart[int] = 0
    known: Apart[Emptied[dict[str, int]]] = field(default_factory=dict)


TEXTS, NUMBERS = st.text(max_size=2), st.integers(0, 9)
PARTS = st.builds(Part, st.dictionaries(TEXTS, NUMBERS), st.sets(NUMBERS))
WHOLES = st.builds(
    Whole,
    TEXTS,
    st.none() | st.builds(Offset, NUMBERS, TEXTS),
    PARTS,
    st.none() | PARTS,
    st.lists(NUMBERS),
    st.dictionaries(TEXTS, st.dictionaries(NUMBERS, st.builds(Offset, NUMBERS, TEXTS))),
    st.dictionaries(NUMBERS, PARTS),
    st.lists(PARTS),
    st.dictionaries(TEXTS, NUMBERS),
    st.lists(NUMBERS),
    NUMBERS,
    st.dictionaries(TEXTS, NUMBERS),
)


def changing(value: object) -> Iterator[object]:
    """All objects in a state that change."""
    if isinstance(value, dict | list | set):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from changing(inner)
    elif isinstance(value, NodeState):
        yield value
        for name in fields_of(type(value)):
            yield from changing(getattr(value, name))


@given(WHOLES)
def test_a_copy_is_equal_and_shares_nothing_that_changes(whole: Whole) -> None:
    copy = whole.copy()
    keys = Keys()
    assert keys.key(copy) == keys.key(whole)
    assert copy.read is whole.read
    assert copy.rest is whole.rest
    assert copy.note == whole.note
    assert copy.known == {}
    shared = {id(each) for each in changing(copy)} & {id(each) for each in changing(whole)}
    assert shared <= {id(whole.read), id(whole.rest)}


@given(WHOLES, st.sampled_from(fields_of(Whole)))
def test_every_field_but_those_apart_tells_states_apart(whole: Whole, name: str) -> None:
    keys = Keys()
    before = keys.key(whole)
    setattr(whole, name, object)
    assert (keys.key(whole) == before) == (name in ("note", "known"))


def test_a_field_cannot_be_forgotten() -> None:
    with pytest.raises(AttributeError):
        Part({}).more = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"Bare\.more has no declared type"):

        class Bare(NodeState):
            __slots__ = ("more",)

    with pytest.raises(TypeError, match=r"Longer\.more has no declared type"):

        class Longer(Part):
            __slots__ = ("more",)

    class Open(Part):
        pass

    with pytest.raises(TypeError, match="Open is no plain state: expected __slots__"):
        Open({}).copy()


@rows(
    "kind",
    [Any, object, list, dict[str, Any], list[object], int | list[int], tuple[list[int], ...], Iterator[int], "int"],
)
def test_a_type_of_which_nobody_knows_how_it_is_copied_raises(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"Unknown\.field: nobody knows how .* is copied"):
        type("Unknown", (NodeState,), {"__slots__": ("field",), "__annotations__": {"field": kind}})
