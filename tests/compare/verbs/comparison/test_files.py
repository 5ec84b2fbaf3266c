"""Of several scenario files the one with which something is wrong is named, whenever that is found."""

from pathlib import Path

import pytest

from tests.compare.showing import equipoise

DAY = """
name: fewer queues
topics: {orders: 4}
group: {name: g, members: {c1: [orders]}}
run: {for: 1min}
systems: [kafka:range, rocketmq:AVG]
"""
FEWER = "events: [{at: 30s, queues: {orders: 2}}]\n"


@pytest.mark.parametrize("more", [[], ["--story", "kafka:range"]])
def test_what_only_a_variant_finds_wrong_is_told_with_its_file(more: list[str], tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(DAY, encoding="utf-8")
    bad.write_text(DAY + FEWER, encoding="utf-8")
    done = equipoise("compare", str(good), str(bad), *more)
    assert done.returncode == 2
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("equipoise: ")]
    assert told.startswith(f"equipoise: {bad}: kafka:range: topic orders from 4 to 2 partitions")
