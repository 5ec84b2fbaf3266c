"""Who imports modules by a text, which no contract about imports sees: the table of verbs, the public doors, the finder
of `equipoise`, and libraries of users that may be missing."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare", "equipoise")
ALLOWED = {
    "compare/__init__.py",
    "compare/cli.py",
    "compare/testing/__init__.py",
    "compare/testing/confluent/door.py",
    "equipoise/finder.py",
    "protocols/named_modules.py",
}
CALL = re.compile(r"(?<!`)\b(module_named|import_module|__import__)\(")


def test_modules_are_imported_by_a_text_in_these_files_only() -> None:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    calling = {path.relative_to(ROOT).as_posix() for path in paths if CALL.search(path.read_text(encoding="utf-8"))}
    assert calling == ALLOWED
