"""``kafka-configs --describe --all --entity-type brokers --entity-name ID``: a broker's settings, with the defaults.

Without ``--all`` the tool prints what was changed while the broker ran, and nothing of the others.
"""

import re
from collections.abc import Iterator

from compare.reading.kafka.facts import BrokerSettings
from compare.reading.kafka.rows import read_rows
from compare.reading.observed import Block, BlockKind, RowError, Skipped, skipped

HEAD = re.compile(r"(All|Dynamic) configs for broker (-?[0-9]{1,10}) are:\s*")

_SETTING = re.compile(r"\s*([A-Za-z0-9_.-]+)=(.*) sensitive=(?:true|false) synonyms=\{.*")


def _parse(block: Block) -> Iterator[BrokerSettings | Skipped]:
    head = HEAD.fullmatch(block.lines[0])
    assert head is not None
    if head[1] != "All":
        yield skipped(block, 0, f"shows only what was changed while broker {head[2]} ran, expected --describe --all")
        return

    def read(line: str) -> tuple[str, str]:
        found = _SETTING.fullmatch(line)
        if found is None:
            raise RowError("expected a setting (NAME=VALUE sensitive=... synonyms=...)")
        return found[1], found[2]

    rows = read_rows(block, read)
    yield from rows.skipped
    yield BrokerSettings(block.source.name, head[2], dict(row for _, row in rows.found))


SETTINGS = BlockKind("kafka", "kafka-configs --describe", lambda line: HEAD.fullmatch(line) is not None, _parse)
