"""Values of a test as Python text: functions by their import or their source, with the variables that they close over.

What cannot be written down (an open file, a mock) becomes a parameter that whoever pastes the text has to give.
"""

import ast
import builtins
import inspect
import linecache
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

_LITERALS = (bool, int, float, str, bytes, tuple, list, dict, set)

_OURS = ("compare.", "equipoise.")


class SourceText:
    """Text of values, and what has to stand before it. ``known``: id of an object to the name it has already."""

    def __init__(self, known: Mapping[int, str]) -> None:
        self._known = dict(known)
        self.imports: dict[str, set[str]] = {}
        """Module to the names that are imported from it; none for the module itself."""
        self.lines: list[str] = []
        """Definitions, in order; one may be several lines."""
        self.parameters: dict[str, str] = {}
        """Names that cannot be written down, to what they are."""
        self._bound: dict[str, object] = dict.fromkeys(self._known.values())
        self._kept: list[object] = []

    def know(self, value: object, name: str) -> None:
        """This object has a name from now on."""
        self._known[id(value)] = name
        self._bound[name] = value
        self._kept.append(value)

    def of(self, value: object, name: str) -> str:
        """The text of a value; ``name``: what it is called if it has to be a parameter."""
        if id(value) in self._known:
            return self._known[id(value)]
        text = self._text(value, name)
        if text is None:
            if self._bound.setdefault(name, value) is not value:
                name = f"{name}_{len(self.parameters) + 1}"
            self.parameters[name] = type(value).__qualname__
            self.know(value, name)
            return name
        return text

    def _text(self, value: object, name: str) -> str | None:
        if value is None or isinstance(value, _LITERALS):
            return self._literal(value)
        watched = getattr(value, "watches", None)
        if watched is not None:
            return f"group.watch({self.of(watched, name)})"
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, MethodType):
            return f"{self.of(value.__self__, type(value.__self__).__name__.lower())}.{value.__name__}"
        if isinstance(value, partial):
            given = [self.of(each, name) for each in (value.func, *value.args)]
            given += [f"{key}={self.of(each, key)}" for key, each in value.keywords.items()]
            self.imports.setdefault("functools", set()).add("partial")
            return f"partial({', '.join(given)})"
        if isinstance(value, type | BuiltinFunctionType):
            return self._imported(value)
        return self._instance(value)

    def _literal(self, value: object) -> str | None:
        text = repr(value)
        try:
            return text if ast.literal_eval(text) == value else None
        except (ValueError, SyntaxError, RecursionError):
            return None

    def _imported(self, value: object) -> str | None:
        """By its import, where it can be found under its name."""
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if getattr(builtins, name, None) is value:
            return name
        if not module or not name.isidentifier() or getattr(sys.modules.get(module), name, None) is not value:
            return None
        self.imports.setdefault(module, set()).add(name)
        return name

    def _function(self, function: FunctionType) -> str | None:
        if found := self._imported(function):
            return found
        node = _node_of(function.__code__)
        if node is None:
            return None
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                self._bind(name, cell.cell_contents)
            except ValueError:  # A variable that is not set yet.
                continue
        self._bind_defaults(function, node)
        self._import_globals(function, node)
        if isinstance(node, ast.Lambda):
            return ast.unparse(node)
        self.lines.append(ast.unparse(node))
        self.know(function, node.name)
        return node.name

    def _bind(self, name: str, value: object) -> None:
        """A variable that a function closes over."""
        if name in self._bound and self._bound[name] is value:
            return
        text = self.of(value, name)
        if text != name:
            self.lines.append(f"{name} = {text}")
            if isinstance(value, list | dict | set) or not isinstance(value, _LITERALS):
                self.know(value, name)
        self._bound[name] = value

    def _bind_defaults(self, function: FunctionType, node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Variables that are the defaults of arguments, as in ``lambda consumer=consumer: ...``."""
        texts = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
        values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for text, value in zip(texts, values, strict=True):
            if isinstance(text, ast.Name) and text.id not in function.__globals__:
                self._bind(text.id, value)

    def _import_globals(self, function: FunctionType, node: ast.AST) -> None:
        used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        for name in sorted(used & function.__globals__.keys() - self._bound.keys()):
            value = function.__globals__[name]
            if isinstance(value, ModuleType):
                self.lines.append(f"import {value.__name__} as {name}" if value.__name__ != name else f"import {name}")
            elif self._imported(value) != name:
                self.imports.setdefault(function.__module__, set()).add(name)

    def _instance(self, value: object) -> str | None:
        """By its class and the arguments that it was made with, where it has kept them under their names."""
        kept = getattr(value, "__dict__", None)
        made = type(value).__init__
        if type(value).__module__.startswith(_OURS) or not kept or not isinstance(made, FunctionType):
            return None
        expected = [each for each in inspect.signature(made).parameters.values() if each.name != "self"]
        names = [each.name for each in expected if each.name in kept]
        if any(each.name not in kept and each.default is each.empty for each in expected):
            return None
        kind = self._imported(type(value))
        if kind is None:
            return None
        return f"{kind}({', '.join(f'{name}={self.of(kept[name], name)}' for name in names)})"

    def import_lines(self) -> Iterable[str]:
        """The imports, sorted."""
        for module, names in sorted(self.imports.items()):
            yield f"from {module} import {', '.join(sorted(names))}"


@lru_cache(maxsize=64)
def _tree(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return None


@lru_cache(maxsize=1024)
def _node_of(code: object) -> ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Where in its file a function stands; None where there is no source."""
    assert inspect.iscode(code)
    tree = _tree(code.co_filename)
    if tree is None:
        return None
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    found: list[ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            begin, end = (node.body.lineno, node.body.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
            if node.lineno == code.co_firstlineno and all(begin <= place <= end for place in places):
                found.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                found.append(node)
    return max(found, key=lambda node: (node.lineno, node.col_offset), default=None)
