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
