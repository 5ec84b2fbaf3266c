"""`make size`: lines and files of each package, how often they say `Any`, and the tests' cases, by package."""

import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

from tabulate import tabulate

from tools.house import PRODUCT, ROOT

OTHERS = ("tests", "benchmarks", "tools", "examples")


def anys(source: str) -> int:
    """How often the code says ``Any``; imports, texts and comments do not count."""
    code = re.sub(r"^\s*from typing import (\([^)]*\)|.*)$", "", source, flags=re.MULTILINE)
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return sum(token.type == tokenize.NAME and token.string == "Any" for token in tokens)


def row(folder: Path) -> list[int]:
    """Files, lines, lines of the median file, and ``Any``, of all Python below a folder."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    lines = sorted(len(source.splitlines()) for source in sources)
    return [len(lines), sum(lines), lines[len(lines) // 2] if lines else 0, sum(map(anys, sources))]


def cases() -> Counter[str]:
    """Test cases of the fast suite that pytest collects, by the folder below tests."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not slow", "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"pytest cannot collect the tests: {done.stdout.strip().splitlines()[-1]}")
    found: Counter[str] = Counter()
    for path, count in re.findall(r"^tests/(\S+)\.py: (\d+)$", done.stdout, re.MULTILINE):
        found[path.split("/")[0] if "/" in path else "(the folder itself)"] += int(count)
    return found


def main() -> None:
    product = [[name, *row(ROOT / name)] for name in PRODUCT]
    rooms = [[f"compare.{path.name}", *row(path)] for path in sorted((ROOT / "compare").iterdir()) if path.is_dir()]
    others = [[name, *row(ROOT / name)] for name in OTHERS]
    total = ["product", *(sum(line[column] for line in product) for column in (1, 2))]
    total += [_median(PRODUCT), sum(line[4] for line in product)]
    headers = ["package", "files", "lines", "median", "Any"]
    print(tabulate([*product, total, *others], headers, intfmt=","))
    print(f"\n{tabulate([line for line in rooms if line[1]], headers, intfmt=',')}\n")
    counted = cases()
    print(tabulate([*sorted(counted.items()), ["all cases", counted.total()]], ["tests", "cases"], intfmt=","))


def _median(packages: tuple[str, ...]) -> int:
    paths = [path for name in packages for path in (ROOT / name).rglob("*.py")]
    lines = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    return lines[len(lines) // 2]


if __name__ == "__main__":
    main()
