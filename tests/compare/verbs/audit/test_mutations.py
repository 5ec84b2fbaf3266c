"""Whatever becomes of a real capture on its way to us, the audit answers and never breaks."""

import math
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compare.auditing.group_figures import judge
from compare.explaining.audited import document
from compare.explaining.diagnosis import explain
from compare.reading.gather import gather
from tests.compare.showing import CAPTURES

FILES = sorted(path for path in CAPTURES.rglob("*.txt") if 0 < path.stat().st_size < 20_000)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Lines of one or two captures, cut, repeated, glued, shuffled or overwritten."""
    lines: list[bytes] = []
    for path in draw(st.lists(st.sampled_from(FILES), min_size=1, max_size=2)):
        lines += path.read_bytes().splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(lines) - 1, 0)))
        line = lines[at] if lines else b""
        column = draw(st.integers(0, len(line)))
        change = draw(st.sampled_from(["cut", "drop", "repeat", "swap", "glue", "insert", "widen"]))
        if change == "cut":
            lines = [*lines[:at], line[:column]]
        elif change == "drop":
            del lines[at : at + draw(st.integers(1, 5))]
        elif change == "repeat":
            lines.insert(at, line)
        elif change == "swap":
            other = draw(st.integers(0, max(len(lines) - 1, 0)))
            if lines:
                lines[at], lines[other] = lines[other], lines[at]
        elif change == "glue":
            lines[at : at + 1] = [line.rstrip(b"\n")]
        elif change == "widen":
            lines[at : at + 1] = [line[:column] + b" " * draw(st.integers(1, 40)) + line[column:]]
        else:
            junk = draw(st.one_of(st.binary(max_size=8), st.text(max_size=8).map(lambda text: text.encode("utf-8"))))
            lines[at : at + 1] = [line[:column] + junk + line[column:]]
        lines = lines or [b""]
    return b"".join(lines)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated(), st.booleans())
def test_mutated_captures_are_audited_or_told_of(raw: bytes, with_retry: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.txt"
        path.write_bytes(raw)
        gathered = gather([str(path)])
    groups = [explain(group) for group in judge(gathered.groups, with_retry=with_retry)]
    for group in document(groups, gathered.skipped)["groups"]:
        counts = [group[name] for name in ("members", "idle_members", "queues", "unowned_queues")]
        assert all(count is None or count >= 0 for count in counts)
        assert group["jain"] is None or (0 < group["jain"] <= 1 and math.isfinite(group["jain"]))
    assert gathered.was_read or gathered.skipped
