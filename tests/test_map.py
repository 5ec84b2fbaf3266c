"""The pages for developers name files and modules of ours that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (
    ROOT / "DEVELOPERS.md",
    DOCS / "engine.md",
    DOCS / "architecture.md",
    *sorted((DOCS / "decisions").glob("*.md")),
)
PACKAGES = "protocols|kafka_coordinator|rocketmq_selfbalance|compare|equipoise|benchmarks|tools|tests"
NAMED = re.compile(rf"`((?:{PACKAGES})(?:\.[a-z_]\w*)+|(?:{PACKAGES}|docs|examples)/[\w./-]+)`")


def lost(text: str) -> Iterator[str]:
    """Whole names of modules and paths from the root that nothing has; the last part may be a name within a module."""
    for name in NAMED.findall(text):
        path = ROOT / name if "/" in name else ROOT.joinpath(*name.split("."))
        if not path.exists() and not path.with_suffix(".py").is_file() and not _stands_in(path):
            yield name


def _stands_in(path: Path) -> bool:
    for module in (path.parent.with_suffix(".py"), path.parent / "__init__.py"):
        if module.is_file() and re.search(rf"\b{path.name}\b", module.read_text(encoding="utf-8")):
            return True
    return False


def test_what_a_page_for_developers_names_exists(subtests: pytest.Subtests) -> None:
    for path in PAGES:
        with subtests.test(path=path):
            assert list(lost(path.read_text(encoding="utf-8"))) == []


def test_what_is_gone_is_found() -> None:
    there = "`compare/cli.py` `compare.cli` `protocols.engine.nodes` `compare.spark` `protocols.java` `docs/engine.md`"
    gone = ["compare/gone.py", "compare.gone", "protocols.engine.nodes.gone", "docs/gone.md"]
    assert list(lost(f"{there} " + " ".join(f"`{name}`" for name in gone))) == gone
