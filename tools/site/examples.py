"""What the site adds to each example scenario: pictures, its report, the code that it runs, the test of its claim."""

import ast
import inspect
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from compare.running.systems import cluster_of, known_strategies, read
from compare.running.variants import variants_of

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "examples" / "scenarios"
TESTS = (*sorted((ROOT / "tests" / "compare" / "running").glob("test_*.py")), ROOT / "tests" / "test_docs.py")
OF_ALL = ("test_every_example_holds_what_it_expects_and_owns_every_queue_at_the_end",)
"""Tests that every example takes part in; shown where no other test names the scenario."""


def names() -> list[str]:
    """All example scenarios."""
    return sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


def sections(markdown: str, there: Mapping[str, object], playground: bool) -> str:
    """The page of examples with pictures and links in the section of each scenario.

    ``there``: the files that the site has (reports, pictures).
    """
    parts = re.split(r"^(?=## )", markdown, flags=re.MULTILINE)
    return "".join(_section(part, there, playground) for part in parts)


def _section(part: str, there: Mapping[str, object], playground: bool) -> str:
    heading = re.match(r"## (\S+)", part)
    name = heading[1] if heading else ""
    if not (SCENARIOS / f"{name}.yaml").is_file():
        return part
    shown = "\n".join(
        f'<a class="shot" href="reports/{name}.html"><img loading="lazy" src="{path}" alt="{_alt(name, path)}"></a>'
        for path in there
        if re.fullmatch(rf"pictures/{re.escape(name)}-\w+\.svg", path)
    )
    links = []
    if f"reports/{name}.html" in there:
        links.append(f"[The report with its player](reports/{name}.html){{ .md-button .md-button--primary }}")
    if playground:
        links.append(f"[Run it in the browser](playground/index.html#example={name}){{ .md-button }}")
    tests = ", ".join(f'<a href="{path}.html#{anchor}">{words}</a>' for words, path, anchor in proofs(name))
    code = ", ".join(f"[{label}]({path}.md)" for label, path in sources(name))
    pictures = f'<div class="shots">\n{shown}\n</div>\n\n' if shown else ""
    return f"{part.rstrip()}\n\n{pictures}{' '.join(links)}\n\nCode: {code}.\nTested by {tests}.\n\n"


def _alt(name: str, path: str) -> str:
    system = "Kafka" if path.endswith("-kafka.svg") else "RocketMQ" if path.endswith("-rocketmq.svg") else "ZooKeeper"
    return f"{name}: who owns which queue over time, {system}"


def proofs(name: str) -> list[tuple[str, str, str]]:
    """The tests that name a scenario: in words, path of the file, anchor of the line on its page."""
    found = _tests().get(name) or [test for each in OF_ALL for test in _tests()[each]]
    return [(words.replace("_", " "), path, f"__codelineno-0-{line}") for words, path, line in found]


@cache
def _tests() -> Mapping[str, list[tuple[str, str, int]]]:
    """Every text in a test, and every test's name, to the tests: name without ``test_``, path, line."""
    found: dict[str, list[tuple[str, str, int]]] = {}
    for path in TESTS:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                test = (node.name.removeprefix("test_"), str(path.relative_to(ROOT)), node.lineno)
                for text in {node.name, *_texts(node)}:
                    found.setdefault(text, []).append(test)
    return found


def _texts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def sources(name: str) -> list[tuple[str, str]]:
    """The files of our code that a scenario's systems are made of: in words, path from the root."""
    found: dict[str, str] = {}
    for variant in variants_of(read(SCENARIOS / f"{name}.yaml"), ()):
        system, _, strategy = variant.part.system.partition(":")
        found.setdefault(_file(cluster_of(variant.part.system)), f"{system} cluster")
        for record in known_strategies()[system].records:
            if record.name == strategy.partition("+")[0] and record.implementation is not None:
                found.setdefault(_file(record.implementation), strategy.partition("+")[0])
    return [(label, path) for path, label in found.items()]


def _file(thing: object) -> str:
    thing = inspect.unwrap(thing.func if isinstance(thing, partial) else thing)  # type: ignore[arg-type]
    target = thing if inspect.isclass(thing) or inspect.isfunction(thing) else type(thing)
    return posixpath.join(*Path(inspect.getfile(target)).resolve().relative_to(ROOT).parts)
