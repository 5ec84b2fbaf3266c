"""The same incidents with other clocks: nothing but the printed times changes, and what is told stays the same."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.compare.logs.judging import files_of, judge, unpacked
from tests.compare.logs.judging import truth_of as known_of
from tests.compare.logs.scoring import logs_of, report, truth_of
from tests.rows import rows

STAMP = re.compile(rb"^(\[?)(2026-11-\d\d)[T ](\d\d:\d\d:\d\d)([.,]\d+)(Z|[+-]\d\d:\d\d)?(?=[\] ])", re.MULTILINE)

INCIDENTS = (
    "rebalance-timeout-41",
    "rolling-28",
    "partitions-added-39",
    "protocol-upgrade-41",
    "kip848-poll-41-debug",
    "coordinator-restart-41",
    "crash-39",
    "twin-39",
    "subs-28",
)
"""Files whose lines begin with their own times."""


def shifted(data: bytes, hours: float) -> bytes:
    """Local times of another zone; times that state their zone stay."""

    def later(match: re.Match[bytes]) -> bytes:
        if match.group(5):
            return match.group()
        moment = datetime.fromisoformat(f"{match.group(2).decode()} {match.group(3).decode()}") + timedelta(hours=hours)
        return match.group(1) + moment.strftime("%Y-%m-%d %H:%M:%S").encode() + match.group(4)

    return STAMP.sub(later, data)


def of_day(data: bytes) -> bytes:
    """Only the time of day."""
    return STAMP.sub(rb"\1\3\4", data)


def untimed(data: bytes) -> bytes:
    """No times, as the simplest of slf4j's loggers prints."""
    return STAMP.sub(rb"\1", data)


def same(data: bytes) -> bytes:
    return data


CLOCKS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "clients in India": (same, lambda data: shifted(data, 5.5)),
    "broker in New York": (lambda data: shifted(data, -5), same),
    "broker in Tokyo, clients on Hawaii": (lambda data: shifted(data, 9), lambda data: shifted(data, -10)),
    "clients without date": (lambda data: shifted(data, 9), of_day),
    "clients without times": (lambda data: shifted(data, 2), untimed),
}


def told(paths: list[Path], group: str) -> list[tuple[object, ...]]:
    (found,) = [each for each in report(paths)["groups"] if each["group"] == group]
    return [
        (each["generation"], each["cause"], each["member"], round(datetime.fromisoformat(each["at"]).timestamp(), 1))
        for each in found["rebalances"]
    ]


def test_other_clocks_change_nothing(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for clocks in list(CLOCKS):
        for name in INCIDENTS:
            with subtests.test(clocks=clocks, name=name):
                of_broker, of_clients = CLOCKS[clocks]
                paths = []
                for path in logs_of(name, "both"):
                    change = of_broker if "broker" in path.name else of_clients
                    paths.append(tmp_path / path.name)
                    paths[-1].write_bytes(change(path.read_bytes()))
                group = truth_of(name)["group"]
                expected = told(logs_of(name, "both"), group)
                assert told(paths, group) == expected


def test_where_nothing_tells_the_zone_most_files_are_taken_as_utc() -> None:
    """The broker prints times of India without saying so, two clients print UTC without saying so."""
    found = report(logs_of("commit-failed-kafka-python-41", "both"))
    (group,) = [each for each in found["groups"] if each["group"] == "ml-train"]
    assert group["zone_offsets"] == {"broker.log": 19800.0, "client-train-1.log": 0.0, "client-train-2.log": 0.0}
    assert any("taken as UTC" in note for note in group["notes"])


def test_a_zone_that_is_stated_is_told() -> None:
    """One client prints +01:00 with every time, the others and the broker UTC without saying so."""
    found = report(logs_of("frozen-41", "both"))
    (group,) = [each for each in found["groups"] if each["group"] == "stock-feed"]
    stated = {name for name in group["zone_offsets"] if "+01:00" in text_of(name)}
    assert stated
    assert all(offset == (3600.0 if name in stated else 0.0) for name, offset in group["zone_offsets"].items())


def text_of(name: str) -> str:
    (path,) = [path for path in logs_of("frozen-41", "both") if path.name == name]
    return path.read_text(encoding="utf-8")


@rows(
    ("hours", "tied"),
    [(-0.5, True), (5.5, True), (-0.5, False), (-8, False)],
)
def test_brokers_of_several_zones(hours: float, tied: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The second broker, which has the group next, prints the times of another zone. Partitions that both create, and
    what both controllers read, tell which; without them generations that go back tell that it is another one."""
    name = "broker-killed-confluent-3b-41"
    folder = tmp_path_factory.mktemp("zones")
    for file in files_of(name, "brokers_only"):
        lines = (shifted(unpacked(file), hours) if file.stem == "broker-2.log" else unpacked(file)).split(b"\n")
        shared = (b"Created log for partition", b"BrokerRegistrationChangeRecord")
        kept = [line for line in lines if tied or not any(words in line for words in shared)]
        (folder / file.stem).write_bytes(b"\n".join(kept))
    told = report(sorted(folder.iterdir()))
    (group,) = [each for each in told["groups"] if each["group"] == known_of(name)["group"]]
    assert any("their zones differ" in note for note in group["notes"]) == (not tied)
    if tied:
        assert judge(known_of(name), told, "brokers_only").false == []
    assert any(each["stated"] for each in group["rebalances"]) == tied
    doubts = {each["candidates"][0] for one in group["rebalances"] for each in (one["unknown"] or {"each": []})["each"]}
    assert tied or "session_timeout" in doubts
