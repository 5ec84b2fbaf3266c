"""How the parts of a client are called: the state first, then the time, last the outbox; the state keeps neither. And
no record of theirs grows beyond what one can survey."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[3] / "rocketmq_selfbalance" / "client"
FILES = sorted(CLIENT.glob("*.py"))
MOST_FIELDS = 30


def functions(tree: ast.AST) -> Iterator[tuple[str, list[str], int]]:
    """Name, positional parameters (without ``self``), and how many of the last ones have defaults."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [each.arg for each in node.args.args]
            yield node.name, names[names[:1] == ["self"] :], len(node.args.defaults)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_time_comes_after_the_state_and_the_outbox_last(path: Path) -> None:
    wrong = []
    for name, parameters, defaults in functions(ast.parse(path.read_text(encoding="utf-8"))):
        if "out" not in parameters:
            continue
        required = parameters[: len(parameters) - defaults]
        at = parameters.index("now") if "now" in parameters else 0
        if required[-1] != "out" or at > 1:
            wrong.append((name, parameters))
    assert not wrong


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_state_keeps_the_time_or_the_outbox_of_the_event_at_hand(path: Path) -> None:
    kept = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("now", "out")
    ]
    assert not kept


def fields_of(record: ast.ClassDef) -> int:
    """Annotated fields, or names of ``__slots__``."""
    annotated = sum(isinstance(node, ast.AnnAssign) for node in record.body)
    slots = [
        len(node.value.elts)
        for node in record.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and ast.unparse(node.targets[0]) == "__slots__"
    ]
    return max(annotated, *slots, 0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_records_are_parted_by_concern(path: Path) -> None:
    records = [each for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(each, ast.ClassDef)]
    assert {each.name: fields_of(each) for each in records if fields_of(each) > MOST_FIELDS} == {}
