"""Logs that are cut, lose lines at random, or give back lines of one moment in any order: nothing false is stated."""

import random
import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from tests.compare.logs.judging import INCIDENTS, files_of, judge, names, truth_of, unpacked
from tests.compare.logs.scoring import report
from tests.rows import rows


def _cut(lines: list[bytes], dice: random.Random) -> list[bytes]:
    """A log that begins late, ends early, or has a hole."""
    begin, end = sorted(dice.randrange(len(lines) + 1) for _ in range(2))
    return dice.choice((lines, lines[begin:], lines[:end], lines[begin:end], lines[:begin] + lines[end:]))


def _thinned(lines: list[bytes], dice: random.Random) -> list[bytes]:
    """A collector that loses lines."""
    lost = dice.choice((0.01, 0.05, 0.2))
    return [line for line in lines if dice.random() >= lost]


def _mixed(lines: list[bytes], dice: random.Random) -> list[bytes]:
    """A collector that loses lines and gives back those of one moment in any order."""
    of_one_time = (list(run) for _, run in groupby(_thinned(lines, dice), lambda line: TIME.findall(line[:80])))
    return [line for run in of_one_time for line in dice.sample(run, len(run))]


TIME = re.compile(rb"\d\d:\d\d:\d\d[.,]\d{3}")


@rows(
    ("damage", "seed"),
    [(_cut, 0), (_cut, 1), (_cut, 2), (_thinned, 3), (_thinned, 4), (_mixed, 5)],
)
def test_damaged_and_fewer_files_make_no_statement_false(
    damage: Callable[[list[bytes], random.Random], list[bytes]],
    seed: int,
    subtests: pytest.Subtests,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Whatever is left out: what was certain stays or becomes a doubt."""
    dice = random.Random(seed)
    for name in names():
        files = files_of(name, "all_files")
        folder = tmp_path_factory.mktemp("damaged")
        for file in dice.sample(files, dice.randrange(1, len(files) + 1)):
            (folder / file.stem).write_bytes(b"\n".join(damage(unpacked(file).split(b"\n"), dice)))
        with subtests.test(name=name):
            assert judge(truth_of(name), report(sorted(folder.iterdir()))).false == []


WHOLE, JNX = ((0, None),), "client-jnx-gamma.log"


@rows(
    ("name", "kept"),
    [
        # The line that says why it leaves is the last one before what is left of the log.
        ("slow-kafka-python-41", {"broker.log": WHOLE, "client-fs-2.log": ((33, 36),)}),
        # It was given its id before the first generation that the logs tell of.
        ("broker-frozen-java-3b-41", {"broker-1.log": WHOLE, "client-rt-2.log": ((0, 129),)}),
        # The broker had lost the group: its log ends before it says so, a client's tells.
        ("broker-frozen-stale-3b-41", {"broker-1.log": ((0, 140),), "client-bw-1.log": ((133, None),)}),
        ("broker-frozen-aiokafka-3b-41", {"broker-3.log": ((0, 156),), "client-re-2.log": ((31, None),)}),
        # Who left led to a generation before the first that the logs tell of.
        ("truncated-rolling-deploy-41", {"client-ship-1.log": ((17, None),), "client-ship-3.log": WHOLE}),
        # Told to join again, a member was in a generation before the first that its log tells of.
        (
            "rolling-deploy-overlap-44",
            {"broker.log": ((53, 105),), "client-tick-1.log": ((0, 12), (326, None)), "client-tick-2.log": WHOLE},
        ),
        # A member keeps its id in the consumer protocol: its log tells how it came the first time, ...
        (
            "consumer-protocol-frozen-and-killed-44",
            {"broker.log": ((16, None),), "client-jnx-beta.log": WHOLE, JNX: ((0, 138),)},
        ),
        # ... or that it polled late after it stood still, and the broker's line that expired it is missing.
        ("consumer-protocol-frozen-and-killed-44", {"broker.log": ((0, 11), (16, None)), JNX: ((147, 218),)}),
        # The line that a client prints once comes after its first join: it is no start of another process.
        ("consumer-protocol-frozen-and-killed-44", {JNX: ((127, 209),)}),
        # An epoch without topics is that of a group without members, if the last one's leave is missing.
        ("consumer-protocol-frozen-and-killed-44", {"broker.log": ((0, 11), (33, None))}),
        # The end of a generation is missing at the broker: what was said before it is not about the next one.
        (
            "frozen-and-killed-franz-go-44",
            {"broker.log": ((0, 19), (42, None)), "client-fra-beta.log": ((15, 39),), "client-fra-gamma.log": WHOLE},
        ),
        # It was given its id, joined (which is missing), and asked to join again: it had come a generation before.
        ("frozen-and-killed-franz-go-44", {"client-fra-alpha.log": ((0, 76), (77, 78), (80, 83), (84, None))}),
        ("frozen-and-killed-franz-go-44", {"broker.log": ((0, 12),), "client-fra-alpha.log": ((0, 59), (93, None))}),
        # The line is missing that tells to which epoch the first partitions of a member belong.
        ("consumer-protocol-slow-44", {"client-render-2.log": ((0, 144), (145, None)), "client-render-3.log": WHOLE}),
        # A client had no answer of its name server, and its lines about that are missing: no broker need be down.
        (
            "rmq-broker-and-name-server-55",
            {"client-mail-2.log": ((0, 112), (113, 122), (123, None))},
        ),
        # Its lines since it asked to join are missing, which was before the others' first generation.
        ("broker-frozen-aiokafka-3b-41", {"client-re-1.log": WHOLE, "client-re-2.log": ((0, 29), (64, None))}),
        # It says that it was too slow, as one that stood still does when it runs again, and its log ends.
        ("consumer-protocol-frozen-and-killed-44", {JNX: ((0, 180),)}),
        # The lines of the epoch before are missing, which the member that left just then had raised.
        (
            "consumer-protocol-confluent-44",
            {"broker.log": ((0, 15), (17, None)), "client-rd-1.log": WHOLE, "client-rd-3.log": WHOLE},
        ),
        # By how long it waited it was in the generation that the broker completed three seconds before.
        ("slow-and-frozen-kafkajs-44", {"broker.log": ((7, 8),), "client-kaf-alpha.log": ((1, None),)}),
        # The leader's line says that it was in the generation of which its own lines are missing.
        (
            "broker-frozen-java-3b-41",
            {
                "client-rt-1.log": ((0, 170),),
                "client-rt-2.log": ((0, 139), (194, None)),
                "client-rt-3.log": ((0, 174),),
            },
        ),
        # Nobody's lines say that, and the refusal does not name the generation that it asked for.
        (
            "broker-frozen-java-3b-41",
            {
                "client-rt-1.log": ((0, 170),),
                "client-rt-2.log": ((0, 139), (194, None)),
                "client-rt-3.log": ((0, 148), (149, 174)),
            },
        ),
        # Two threads of the broker print in another order than that of their times.
        (
            "consumer-protocol-confluent-44",
            {"broker.log": ((0, 15), (16, 17), (15, 16), (17, None)), "client-rd-1.log": WHOLE},
        ),
        # Two left, and nothing tells whether the first one's rebalance was through.
        ("rolling-deploy-busy-41", {"client-pcl-3.log": ((96, None),), "client-pcl-4.log": ((156, 245),)}),
    ],
)
def test_what_a_cut_leaves_open_is_a_doubt(
    name: str, kept: dict[str, tuple[tuple[int, int | None], ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp(name)
    for file, parts in kept.items():
        lines = unpacked(INCIDENTS / name / f"{file}.gz").split(b"\n")
        (folder / file).write_bytes(b"\n".join(line for begin, end in parts for line in lines[begin:end]))
    judgement = judge(truth_of(name), report(sorted(folder.iterdir())))
    assert judgement.stated > 0
    assert judgement.false == []


def test_a_client_that_gives_up_queues_first_had_come_before(tmp_path: Path) -> None:
    """Its first lines are missing, and of a broker's log two minutes before."""
    folder = INCIDENTS / "rmq-broker-and-name-server-55"
    for file, parts in {"broker-b.log": ((0, 11), (92, None)), "client-mail-2.log": ((52, 54),)}.items():
        lines = unpacked(folder / f"{file}.gz").split(b"\n")
        (tmp_path / file).write_bytes(b"\n".join(line for begin, end in parts for line in lines[begin:end]))
    told = report(sorted(tmp_path.iterdir()))
    (group,) = [each for each in told["groups"] if each["group"] == truth_of(folder.name)["group"]]
    assert group["rebalances"][0]["stated"] == []
    assert {"broker_down", "member_joined"} <= set(group["rebalances"][0]["unknown"]["candidates"])
