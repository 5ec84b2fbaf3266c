"""YAML as plain Python values, with the line on which each of them was written."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from protocols.errors import UserError
from protocols.scenario.fields import Bare
from protocols.scenario.validation import Path, path_text

MOST_VALUES = 500_000
"""More values than any scenario has: aliases of aliases can make a short text endless."""

_TAG = "tag:yaml.org,2002:"
_KINDS = ("null", "bool", "int", "float", "str", "timestamp", "value", "seq", "map")


YamlValue: TypeAlias = "bool | int | float | str | list[YamlValue] | dict[str, YamlValue] | None"
"""Keys of mappings are texts, as they are written; numbers with a fraction are `Bare`."""


class ParsedYaml(NamedTuple):
    """The values of a text, and where they stand."""

    value: YamlValue
    lines: Mapping[Path, int]
    """Line, from 1 on, of each value; of a mapping's value the line of its key."""

    def line(self, path: Path) -> int:
        """The line of a value, or of the nearest one around it that was written."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines[path]


class _TextError(Exception):
    """The text is no YAML that we read. ``line`` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


def parse(text: str, source: str, what: str = "scenario") -> ParsedYaml:
    """The values of a YAML text (version 1.2, one document), which is to be a ``what``.

    Raises `UserError` naming ``source`` and the line where it is no YAML, where a mapping has a key twice, and where
    an alias contains itself.
    """
    try:
        node = _compose(text)
        if node is None:
            raise _TextError(1, f"empty, expected a {what}")
        lines: dict[Path, int] = {(): node.start_mark.line + 1}
        return ParsedYaml(_Values(lines).of(node, ()), lines)
    except _TextError as error:
        raise UserError(f"{source} line {error.line}: {error.problem}") from None
    except RecursionError:
        raise UserError(f"{source} line 1: nested too deeply, expected a {what}") from None


def _compose(text: str) -> Node | None:
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context or "no YAML").split("\n")[0]
        raise _TextError(1 if mark is None else mark.line + 1, f"{problem}, expected YAML") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _TextError(line, "a character that YAML does not allow, expected text") from None
    except (YAMLError, ValueError) as error:
        raise _TextError(1, f"{str(error).splitlines()[0]}, expected YAML") from None
    return node


class _Values:
    """Makes values of nodes and notes their lines."""

    def __init__(self, lines: dict[Path, int]) -> None:
        self._lines = lines
        self._around: list[Node] = []
        """The nodes in which we are: one that contains itself is a cycle."""

    def of(self, node: Node, path: Path) -> YamlValue:
        if isinstance(node, ScalarNode):
            return _scalar(node)
        if any(each is node for each in self._around):
            line = self._lines[path]
            raise _TextError(line, f"{path_text(path)}: a cycle, the alias &{node.anchor} contains itself")
        self._around.append(node)
        value: YamlValue = self._list(node, path) if isinstance(node, SequenceNode) else self._mapping(node, path)
        self._around.pop()
        return value

    def _list(self, node: SequenceNode, path: Path) -> list[YamlValue]:
        _refuse_tag(node)
        return [self._item(each, (*path, number), each) for number, each in enumerate(node.value)]

    def _mapping(self, node: Node, path: Path) -> dict[str, YamlValue]:
        _refuse_tag(node)
        values: dict[str, YamlValue] = {}
        for key, value in self._pairs(node, path):
            values[key.value] = self._item(value, (*path, key.value), key)
        return values

    def _pairs(self, node: Node, path: Path) -> Iterator[tuple[ScalarNode, Node]]:
        """Keys and values of a mapping, those that it merges (``<<``) after its own and only where it has none."""
        own: dict[str, int] = {}
        merged: list[MappingNode] = []
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                raise _TextError(line, "a key that is itself a mapping or a list, expected a name")
            if str(key.tag) == f"{_TAG}merge":
                merged += value.value if isinstance(value, SequenceNode) else [value]
                continue
            if key.value in own:
                where = f"{path_text(path)}: " if path else ""
                raise _TextError(
                    line, f"{where}{key.value!r} appears twice, first on line {own[key.value]}: expected each name once"
                )
            own[key.value] = line
            yield key, value
        for other in merged:
            if not isinstance(other, MappingNode):
                raise _TextError(other.start_mark.line + 1, "<< merges something else than a mapping")
            if other is node or any(each is other for each in self._around):
                raise _TextError(other.start_mark.line + 1, f"a cycle, the alias &{other.anchor} contains itself")
            self._around.append(other)
            for key, value in self._pairs(other, path):
                if key.value not in own:
                    own[key.value] = key.start_mark.line + 1
                    yield key, value
            self._around.pop()

    def _item(self, node: Node, path: Path, at: Node) -> YamlValue:
        if len(self._lines) > MOST_VALUES:
            raise _TextError(at.start_mark.line + 1, f"more than {MOST_VALUES} values once aliases are written out")
        self._lines[path] = at.start_mark.line + 1
        return self.of(node, path)


def _scalar(node: ScalarNode) -> YamlValue:
    _refuse_tag(node)
    kind = str(node.tag).removeprefix(_TAG)
    text: str = node.value
    try:
        match kind:
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return _whole(text)
            case "float":
                return Bare(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        raise _TextError(node.start_mark.line + 1, f"{text[:40]!r} is not a readable number") from None
    return text


def _whole(text: str) -> int:
    digits = text.replace("_", "")
    for prefix, base in (("0x", 16), ("0o", 8), ("0b", 2)):
        if digits.lstrip("+-").startswith(prefix):
            return int(digits, base)
    return int(digits)


def _refuse_tag(node: Node) -> None:
    tag = str(node.tag)
    if tag.removeprefix(_TAG) not in _KINDS:
        raise _TextError(node.start_mark.line + 1, f"the tag {tag} has no meaning in a scenario, expected none")
