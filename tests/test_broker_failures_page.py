"""docs/broker-failures.md names a test, or says what is not modelled, for each of the 38 rules."""

import re
from pathlib import Path

PAGE = Path("docs/broker-failures.md").read_text(encoding="utf-8")


def test_each_rule_has_a_test_that_exists_or_is_said_to_be_not_modelled() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, 39))
    for number, _, held in rows:
        assert re.search(r"`test_|the same|the recordings|not modelled", held), number
    texts = [path.read_text(encoding="utf-8") for path in Path("tests").rglob("test_*.py")]
    for name in set(re.findall(r"`(test_\w+)`", PAGE)):
        assert any(f"def {name}(" in text for text in texts), name


def test_recordings_that_are_named_are_in_the_project() -> None:
    there = {path.stem for path in Path("tests/captures/broker-failures").rglob("*.json")}
    named = set(re.findall(r"(?:kill|stop|freeze|comb|masters|slaves|controller)-[\w-]*\d", PAGE))
    assert named
    assert named <= there, named - there
