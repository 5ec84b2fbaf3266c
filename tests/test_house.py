"""The rules of `tools.house` are noticed where they are broken; the command line starts without anything heavy."""

import subprocess
import sys

from tools.house import MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION, circles, main, too_long
from tools.size import anys


def test_files_and_functions_are_short_enough() -> None:
    assert main() == 0


def test_a_circle_is_found() -> None:
    assert circles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]) == [["a", "b", "c"]]


def test_what_is_too_long_is_found() -> None:
    body = "\n".join(["        pass"] * MOST_LINES_OF_A_FUNCTION)
    assert len(list(too_long("a.py", f"class A:\n    @x\n    async def f():\n{body}\n"))) == 1
    assert not list(too_long("a.py", f"def f():\n{body.removesuffix('        pass')}\n"))
    assert len(list(too_long("a.py", "pass\n" * (MOST_LINES_OF_A_FILE + 1)))) == 1


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from compare.cli import cli\n"
        "assert 'audit' in CliRunner().invoke(cli, ['--help']).output\n"
        "print([m for m in ('pyspark', 'pandas', 'numpy', 'networkx', 'pyarrow', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_any_is_counted_where_code_says_it() -> None:
    source = "from typing import Any, Protocol\n# Any\ndef f(a: Any) -> dict[str, Any]:\n    'Any'\n"
    assert anys(source) == 2
