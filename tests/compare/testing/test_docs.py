"""What docs/testing.md and other pages show is run."""

import re
from pathlib import Path

import pytest

from compare.testing import assertions, demands, record_assertions

pytest_plugins = ["pytester"]

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "testing.md").read_text(encoding="utf-8")


def test_every_snippet_passes(pytester: pytest.Pytester) -> None:
    shown = PAGE + "".join((DOCS / name).read_text(encoding="utf-8") for name in ("pop.md", "lessons-rocketmq.md"))
    snippets = re.findall(r"```python\n(.*?)```", shown, re.DOTALL)
    for number, snippet in enumerate(snippets):
        pytester.makepyfile(**{f"test_snippet_{number}": snippet})
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=len(re.findall(r"^def test_", shown, re.MULTILINE)))


def test_every_assertion_is_a_method_and_a_function() -> None:
    methods = {name for name in vars(demands.Demands) if name.startswith("assert_")}
    assert methods == {
        name for module in (assertions, record_assertions) for name in vars(module) if name.startswith("assert_")
    }
    table = PAGE.partition("## Which bug, which assertion")[2].partition("\n## ")[0]
    told_elsewhere = {"assert_moves_at_most", "assert_settles_within"}  # demands, no sign of a bug
    assert {name for name in methods if f"`{name}(" not in table and f"`{name}`" not in table} == told_elsewhere


def test_the_page_is_short_enough_to_be_read() -> None:
    assert len(PAGE.splitlines()) <= 400
