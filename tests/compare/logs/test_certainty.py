"""Say only what is known: incidents of kinds where a reader goes wrong easily, with fewer files and with cut ones."""

import gzip
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.compare.logs.judging import INCIDENTS, SIDES, files_of, judge, judged, names, truth_of, unpacked
from tests.compare.logs.scoring import Found, report
from tests.rows import rows

LEAST = {"all_files": 0.98, "brokers_only": 0.99, "clients_only": 0.96}
"""Of the knowable causes. 5 of the 6 that are missed with clients only are joins of librdkafka's clients without
`debug`, which print none."""


def group_of(name: str, side: str = "all_files") -> Found:
    document = report(files_of(name, side))
    return next(dict(each) for each in document["groups"] if each["group"] == truth_of(name)["group"])


@pytest.mark.parametrize("side", SIDES)
def test_no_statement_is_false(side: str, subtests: pytest.Subtests) -> None:
    for name in names():
        with subtests.test(name=name):
            assert judged(name, side).false == []


@pytest.mark.parametrize("side", SIDES)
def test_what_can_be_known_is_found(side: str) -> None:
    knowable = sum(judged(name, side).knowable for name in names())
    found = sum(judged(name, side).found for name in names())
    missed = [line for name in names() for line in judged(name, side).missed]
    assert knowable > 130
    assert found >= LEAST[side] * knowable, missed


@pytest.mark.parametrize("side", SIDES)
def test_the_truth_is_among_the_candidates_of_a_doubt(side: str, subtests: pytest.Subtests) -> None:
    for name in names():
        with subtests.test(name=name):
            assert judged(name, side).kept == judged(name, side).doubts


def _whole_seconds(texts: dict[str, str]) -> dict[str, str]:
    return {
        name: re.sub(r"^(\[?[\d-]{10}[ T][\d:]{8})[.,]\d{3}", r"\1", text, flags=re.M) for name, text in texts.items()
    }


def _stamped(texts: dict[str, str], form: str) -> dict[str, str]:
    stamp = re.compile(r"^\[?[\d-]{10}[ T]([\d:]{8})[.,]\d{3}[\]Z]?", re.MULTILINE)
    return {name: stamp.sub(form, text) for name, text in texts.items()}


_by_syslog = partial(_stamped, form=r"Nov 23 \1 host-1 kafka[7]:")
_without_times = partial(_stamped, form="")


def _newest_first(texts: dict[str, str]) -> dict[str, str]:
    return {name: "\n".join(text.split("\n")[::-1]) for name, text in texts.items()}


def _in_one_file(texts: dict[str, str]) -> dict[str, str]:
    """All clients print into one file, without a prefix."""
    dated = [
        (line[1:24].strip("["), number, line)
        for number, text in enumerate(texts.values())
        for line in text.split("\n")
        if re.match(r"\[?[\d-]{10}[ T]", line)
    ]
    return {"clients.log": "\n".join(line for _, _, line in sorted(dated, key=lambda each: each[:2]))}


def _lines(change: Callable[[list[str]], list[str]]) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda texts: {name: "\n".join(change(text.split("\n"))) for name, text in texts.items()}


_later_half_first = _lines(lambda lines: lines[len(lines) // 2 :] + lines[: len(lines) // 2])
_sorted = _lines(sorted)
_shuffled = _lines(lambda lines: random.Random(7).sample(lines, len(lines)))


def _shortened(texts: dict[str, str]) -> dict[str, str]:
    """A collector cuts long lines."""
    return {name: "\n".join(line[:180] for line in text.split("\n")) for name, text in texts.items()}


@rows(
    ("name", "side", "printed", "same"),
    [
        ("commit-in-rebalance-41", "brokers_only", _whole_seconds, True),
        ("broker-frozen-aiokafka-3b-41", "all_files", _whole_seconds, True),
        ("broker-killed-confluent-3b-41", "brokers_only", _by_syslog, True),
        ("consumer-protocol-slow-44", "all_files", _without_times, False),
        ("slow-aiokafka-41", "clients_only", _newest_first, True),
        ("consumer-protocol-slow-44", "all_files", _newest_first, True),
        ("slow-kafka-python-41", "clients_only", _in_one_file, False),
        ("slow-aiokafka-41", "clients_only", _in_one_file, True),
        ("consumer-protocol-crash-confluent-44", "brokers_only", _shortened, False),
        ("rolling-deploy-41", "all_files", _later_half_first, True),
        ("consumer-protocol-slow-44", "all_files", _shuffled, True),
        ("slow-kafka-python-41", "all_files", _shuffled, True),
        ("broker-frozen-java-3b-41", "all_files", _sorted, True),
    ],
)
def test_other_ways_to_print_make_no_statement_false(
    name: str,
    side: str,
    printed: Callable[[dict[str, str]], dict[str, str]],
    same: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("printed")
    texts = {file.stem: unpacked(file).decode("utf-8", "replace").rstrip() for file in files_of(name, side)}
    for file, text in printed(texts).items():
        (folder / file).write_text(text, encoding="utf-8")
    judgement = judge(truth_of(name), report(sorted(folder.iterdir())), side)
    assert judgement.false == []
    assert (judgement.found == judged(name, side).found) == same


@rows(
    ("printed", "said"),
    [
        (_sorted, ""),
        (_shuffled, "its lines stand in no order of time: they were read in the order of their times"),
        (
            lambda texts: _sorted(_whole_seconds(texts)),
            "its lines were sorted or mixed and show whole seconds, so that their order is lost: give it as written",
        ),
    ],
)
def test_a_file_without_order_is_named(
    printed: Callable[[dict[str, str]], dict[str, str]], said: str, tmp_path: Path
) -> None:
    text = unpacked(INCIDENTS / "rolling-deploy-41" / "broker.log.gz").decode()
    (tmp_path / "broker.log").write_text(printed({"broker.log": text})["broker.log"], encoding="utf-8")
    document = report([tmp_path / "broker.log"])
    assert [each["why"] for each in document["skipped"]] == ([said] if said else [])
    assert bool(document["groups"]) == ("order is lost" not in said)
    assert document["not_understood"] == []


LINE = re.compile(r"\[?([\d-]{10})[ T](\d\d):(\d\d):(\d\d),(\d{3})\]? (\w+) (.*) \(([\w.$]+)\)$")


def _klog(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{level[0]}{time:%m%d %H:%M:%S.%f}       1 consumer.go:211] {message}"


def _jul(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%b %d, %Y %I:%M:%S}\u202f{time:%p} {logger} log\n{level}: {message}"


def _loguru(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S.%f} | {level:<8} | {logger}:on_join:77 - {message}"


def _line_of_class(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S},{time:%f} {level:<5} [main] {logger.rpartition('.')[2]}:77 - {message}"


def _colons(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S},{time:%f}:{level}:{logger}:{message}"


def _behind(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S},{time:%f} {level} {message} [{logger}]"


def _behind_a_dash(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S},{time:%f} {level} {message} - {logger}"


def _file_behind(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S},{time:%f} {level} {message} ({logger.rpartition('.')[2]}.java:77)"


def _syslog(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%b %d %H:%M:%S} host-1 pod-7[77]: {level} {logger}: {message}"


def _seconds(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time.replace(tzinfo=UTC).timestamp():.6f} {level} {logger} - {message}"


def _asctime(time: datetime, level: str, message: str, logger: str) -> str:
    said = {"name": logger, "levelname": level, "message": message}
    return json.dumps({"asctime": f"{time:%Y-%m-%d %H:%M:%S},{time:%f}", **said})


def _structlog(time: datetime, level: str, message: str, logger: str) -> str:
    return json.dumps({"event": message, "logger": logger, "level": "info", "timestamp": f"{time:%FT%T.%fZ}"})


def _serialized(time: datetime, level: str, message: str, logger: str) -> str:
    return json.dumps({"text": _loguru(time, level, message, logger), "record": {"message": message, "name": logger}})


def _collected(time: datetime, level: str, message: str, logger: str) -> str:
    later, line = time + timedelta(seconds=0.9), _behind(time, level, message, logger)
    return json.dumps({"@timestamp": f"{later:%FT%T.%fZ}", "log": {"offset": 12}, "message": line})


def _of_a_cloud(time: datetime, level: str, message: str, logger: str) -> str:
    return json.dumps({"jsonPayload": {"message": message, "logger": logger}, "timestamp": f"{time:%FT%T.%fZ}"})


def _unknown(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%H%M%S} <{level}> of pod 7 said: {message}"


def _over_lines(time: datetime, level: str, message: str, logger: str) -> str:
    return json.dumps({"timeMillis": time.timestamp(), "loggerName": logger, "message": message}, indent=2)


def _thread_behind(time: datetime, level: str, message: str, logger: str) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S},{time:%f} {level} {logger} - {message} [main]"


_READ = [_klog, _jul, _loguru, _line_of_class, _colons, _behind, _behind_a_dash, _file_behind, _syslog, _seconds]
_READ += [_asctime, _structlog, _serialized, _collected, _of_a_cloud]
_NOT_READ = [_unknown, _over_lines]


@rows(
    ("layout", "read", "whole"),
    [
        *((each, True, True) for each in _READ),
        *((each, False, False) for each in _NOT_READ),
        (_thread_behind, True, False),
    ],
)
def test_another_layout_tells_the_same_or_is_named(
    layout: Callable[[datetime, str, str, str], str], read: bool, whole: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The clients' lines in layouts of other languages, of java.util.logging and of collectors."""

    def laid_out(line: str) -> str:
        found = LINE.match(line)
        if found is None:
            return line
        time = datetime.strptime(f"{found[1]} {found[2]}:{found[3]}:{found[4]}.{found[5]}", "%Y-%m-%d %H:%M:%S.%f")
        return layout(time, found[6], found[7], found[8])

    name, folder = "netcut-java-44", tmp_path_factory.mktemp("laid_out")
    for file in files_of(name, "all_files"):
        text = unpacked(file).decode()
        is_client = not file.name.startswith("broker")
        (folder / file.stem).write_text("\n".join(map(laid_out, text.split("\n"))) if is_client else text)
    document = report(sorted(folder.iterdir()))
    judgement = judge(truth_of(name), document)
    named = {each["source"] for each in document["not_understood"] if "a layout that is not known" in each["why"]}
    assert judgement.false == []
    assert (judgement.found == judged(name, "all_files").found) == read
    assert named == (set() if whole else {"client-sj-1.log", "client-sj-2.log", "client-sj-3.log"})


@rows(
    ("form", "group"),
    [
        ("{} of eu 1", "{}"),
        ("{}, b", "{}, b"),
        ("my [{}] x", "my [{}]"),
        ("{} due to consumer poll timeout has expired", "{} in group g2"),
        ("{} in Empty state. Created a new member id x", "{} in state Empty with generation 3"),
    ],
)
def test_client_ids_and_groups_of_any_form_tell_the_same(
    form: str, group: str, subtests: pytest.Subtests, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in names():
        truth = truth_of(name)
        ids = {member["client_id"] for member in truth["members"] if member["client_id"]}
        of_group = "{}" if name.startswith("rmq") else group  # RocketMQ has rules for names
        longest_first = "|".join(sorted(map(re.escape, ids), key=len, reverse=True))
        whole = re.compile(rf"(?<![\w-])(?:(?P<id>{longest_first})(?!\w)|{re.escape(truth['group'])}(?![\w-]))")

        def renamed(text: str, whole: re.Pattern[str] = whole, of_group: str = of_group) -> str:
            return whole.sub(lambda match: (form if match["id"] else of_group).format(match.group()), text)

        folder = tmp_path_factory.mktemp("renamed")
        for file in files_of(name, "all_files"):
            (folder / file.stem).write_text(renamed(unpacked(file).decode("utf-8", "replace")), encoding="utf-8")
        document = report(sorted(folder.iterdir()))
        judgement = judge(json.loads(renamed(json.dumps(truth))), document)
        known = {each["group"] and renamed(each["group"]) for each in report(files_of(name, "all_files"))["groups"]}
        with subtests.test(name=name):
            assert (judgement.false, judgement.found) == ([], judged(name, "all_files").found)
            assert {each["group"] for each in document["groups"]} == known


def test_a_clock_that_is_wrong_is_noticed(subtests: pytest.Subtests, tmp_path: Path) -> None:
    """Each client's clock is off by as many seconds; what is told stays the same, and a note says it."""
    off = (40, -40, 7, -7, 3)
    for name in ("rolling-deploy-41", "rolling-deploy-overlap-44", "netcut-java-44", "consumer-protocol-slow-44"):
        folder = tmp_path / name
        folder.mkdir()
        for number, file in enumerate(files_of(name, "all_files")):
            by = 0 if file.name.startswith("broker") else off[number % len(off)]
            text = unpacked(file).decode("utf-8", "replace")
            (folder / file.stem).write_text(STAMP.sub(partial(_later, by), text), encoding="utf-8")
        document = report(sorted(folder.iterdir()))
        group = next(each for each in document["groups"] if each["group"] == truth_of(name)["group"])
        judgement = judge(truth_of(name), document)
        open_ = name == "consumer-protocol-slow-44"  # one who joined once: its clock is wrong, or it was back
        with subtests.test(name=name):
            assert (judgement.false, judgement.found) == ([], judged(name, "all_files").found - open_)
            assert sum("its times are corrected" in note for note in group["notes"]) > 1


STAMP = re.compile(r"^(\[?2026-11-\d\d[ T])(\d\d:\d\d:\d\d)", re.MULTILINE)


def _later(seconds: int, stamp: re.Match[str]) -> str:
    return f"{stamp[1]}{datetime.strptime(stamp[2], '%H:%M:%S') + timedelta(seconds=seconds):%H:%M:%S}"


def test_the_logs_of_other_groups_change_nothing() -> None:
    """With the brokers' logs alone it is open whether a member left or was too slow; another group's clients do not
    make that certain."""
    for name in ("foreign-slow-confluent-41", "foreign-slow-aiokafka-41"):
        alone, beside = group_of(name, "brokers_only"), group_of(name)
        doubts = [each["unknown"]["candidates"] for each in beside["rebalances"] if each["unknown"]]
        assert doubts == [each["unknown"]["candidates"] for each in alone["rebalances"] if each["unknown"]]
        assert doubts[0] == ["member_left", "poll_interval_exceeded"]
        assert beside["rebalances"][1]["unknown"]["would_decide"].startswith("the log of t")


def test_a_deploy_is_one_with_all_its_members() -> None:
    group = group_of("rolling-deploy-busy-41")
    (deploy,) = group["deploys"]
    assert deploy["who"] == ["pcl-1", "pcl-2", "pcl-3", "pcl-4", "pcl-5"]
    assert [each["deploy"] for each in group["rebalances"]] == [None, 1, 1, 1, 1, 1, 1]
    assert [each["kind"] for each in group_of("autoscaler-flap-41")["deploys"]] == ["flapping"]
    quiet = [name for name in names() if "deploy" not in name and "autoscaler" not in name]
    assert {name: group_of(name)["deploys"] for name in quiet if group_of(name)["deploys"]} == {}


def behind(name: str) -> set[tuple[str, str | None]]:
    return {(each["cause"], each["behind"]) for one in group_of(name)["rebalances"] for each in one["stated"]}


def test_what_was_behind_a_session_is_told_where_it_is_certain() -> None:
    assert ("session_timeout", "broker_paused") in behind("broker-frozen-java-3b-41")
    assert ("session_timeout", "broker_down") in behind("broker-killed-confluent-3b-41")
    assert ("session_timeout", "network_cut") in behind("netcut-java-44")
    assert ("session_timeout", None) in behind("crash-and-back-41")


def test_clients_that_the_broker_refuses_are_told_with_what_they_lack() -> None:
    group = group_of("denied-group-44")
    denied = {
        (event["cause"], *event["who"], *(each["detail"] for each in event["stated"])) for event in group["events"]
    }
    lacks = "no right to read group pay-group"
    assert denied == {("authorization_failed", f"pay-{number}", lacks) for number in (1, 2, 3)}
    (over,) = (each for rebalance in group["rebalances"] for each in rebalance["stated"] if each["behind"])
    assert (over["cause"], over["behind"], len(over["members"])) == ("session_timeout", "authorization_failed", 3)
    (remedy,) = (row["remedy"] for row in group["summary"] if row["cause"] == "session_timeout")
    assert "READ" in remedy
    assert "longer session" not in remedy
    seen_again = group_of("denied-topic-44")["rebalances"][2]
    assert "topic_rights_changed" in seen_again["unknown"]["candidates"]


@rows(
    ("member", "cause", "behind", "lacks"),
    [
        ("aiokafka-g-1", "session_timeout", "authorization_failed", "group g-aiokafka-g"),
        ("aiokafka-t-1", None, None, "topics aiokafka.t"),  # it may have been too slow: it prints the same then
        ("confluent-stderr-g-1", "session_timeout", "authorization_failed", "group g-confluent-stderr-g"),
        ("kafka-python-g-1", "session_timeout", "authorization_failed", "group g-kafka-python-g"),
        ("kafka-python-t-1", "member_left", "exception", "topics kafka-python.t"),
        ("kafkajs-g-1", "session_timeout", "authorization_failed", "group g-kafkajs-g"),
        ("kafkajs-t-1", "member_left", "exception", "topics"),
        ("java-t-1", "member_left", "exception", "topics java.t"),
        ("javanew-t-1", "member_left", "exception", "topics javanew.t"),
    ],
)
def test_each_client_says_in_its_own_words_what_it_is_denied(
    member: str, cause: str | None, behind: str | None, lacks: str
) -> None:
    """A real Kafka 4.4.0 took READ on the group (-g) or the topic (-t) from them."""
    folder = INCIDENTS / "denied-other-clients-44"
    groups = report([folder / "broker.log.gz", folder / f"client-{member}.log.gz"])["groups"]
    group = next(each for each in groups if each["group"] == f"g-{member[:-2]}")
    stated = group["rebalances"][-1]["stated"]
    assert [(each["cause"], each["behind"]) for each in stated] == ([(cause, behind)] if cause else [])
    told = [(event["cause"], event["who"], event["stated"][0]["detail"]) for event in group["events"]]
    assert told == [("authorization_failed", [member], f"no right to read {lacks}")]
    if cause is not None:
        (remedy,) = (row["remedy"] for row in group["summary"] if row["cause"] == cause)
        assert "READ" in remedy


def test_a_connection_that_ends_while_a_client_is_let_in_has_candidates(tmp_path: Path) -> None:
    """A Java client 4.4.0 that spoke TLS to a port without it: its words do not tell what it was."""
    said = (
        "2026-11-29 08:21:{:02d},908 [main] WARN org.apache.kafka.clients.NetworkClient - [Consumer clientId=sec-3,"
        " groupId=sec] Connection to node -1 (/127.0.0.1:24200) terminated during authentication. This may happen due"
        " to any of the following reasons: (1) Firewall blocking Kafka TLS traffic (eg it may only allow HTTPS"
        " traffic), (2) Transient network issue.\n"
    )
    (tmp_path / "client-sec-3.log").write_text("".join(map(said.format, (37, 38, 59))), encoding="utf-8")
    (group,) = report([tmp_path / "client-sec-3.log"])["groups"]
    (event,) = group["events"]
    assert (event["cause"], event["who"], group["rebalances"]) == (None, ["sec-3"], [])
    assert event["causes"] == ["security_protocol_mismatch", "authentication_failed", "network_cut"]


def test_a_lock_that_ends_as_a_member_joins_is_told_with_the_join() -> None:
    """RocketMQ 5.5.0: an orderly consumer was killed, and started again just before its locks ran out."""
    (group,) = report(sorted((INCIDENTS / "rmq-lock-and-join-55").iterdir()))["groups"]
    both = next(each for each in group["rebalances"] if each["cause"] == "orderly_lock_held_by_dead_member")
    assert [(each["cause"], len(each["members"])) for each in both["stated"]] == [
        ("orderly_lock_held_by_dead_member", 1),
        ("member_joined", 1),
    ]
    dead, new = (each["members"][0] for each in both["stated"])
    assert dead != new


def test_a_longer_session_is_advised_by_silences_that_are_known_alone() -> None:
    """A real Kafka 4.4.0 stood still for 40 s, and took READ from franz-go, which prints no session timeout."""
    folder = INCIDENTS / "frozen-and-denied-franz-go-44"
    (group,) = report(sorted(folder.iterdir()))["groups"]
    ends = [each for one in group["rebalances"] for each in one["stated"] if each["cause"] == "session_timeout"]
    assert [(each["behind"], len(each["members"])) for each in ends] == [
        (None, 1),
        (None, 3),
        ("authorization_failed", 3),
    ]
    (remedy,) = (row["remedy"] for row in group["summary"] if row["cause"] == "session_timeout")
    assert "READ" in remedy
    assert "outlived" not in remedy
    assert "that is 10000 longer than now" in remedy
    denied = {(each["cause"], who) for event in group["events"] for each in event["stated"] for who in each["who"]}
    assert denied == {("authorization_failed", f"fra-{number}") for number in (1, 2, 3)}


def test_a_member_that_died_of_an_exception_is_told_as_that() -> None:
    stated = [each for one in group_of("commit-in-rebalance-41")["rebalances"] for each in one["stated"]]
    died = [each for each in stated if each["behind"] == "exception"]
    assert [each["who"] for each in died] == [["invw-2", "invw-3"], ["invw-1"]]
    assert all(each["detail"].endswith(".RebalanceInProgressException") for each in died)


BAD = "java.lang.IllegalStateException"
PYTHONS = {"exc_info": 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: bad record'}


def left_after(path: Path, thrown: Sequence[int], fields: Mapping[str, object]) -> list[tuple[str | None, str | None]]:
    """What stands behind the leave of a client that logs JSON, by a handler's lines with such fields."""
    member = "k1-a0c0b1c2-0000-4000-8000-000000000001"
    gives_up = "Revoking previously assigned partitions {TopicPartition(topic='t', partition=0)} for group g"
    said = [
        (0, "kafka.coordinator", "(Re-)joining group g"),
        (0, "kafka.coordinator", f"Successfully joined group g <Generation 1 (member_id: {member}, protocol: range)>"),
        *((at, "app", "handler failed") for at in thrown),
        (20, "kafka.coordinator.consumer", gives_up),
        (20, "kafka.coordinator", f"Leaving consumer group g (member {member})."),
    ]
    lines = (
        {
            "asctime": f"2026-11-29 10:00:{at:02},100",
            "name": logger,
            "message": text,
            **(fields if at in thrown else {}),
        }
        for at, logger, text in said
    )
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (group,) = report([path])["groups"]
    left = [each for one in group["rebalances"] for each in one["stated"] if each["cause"] == "member_left"]
    return [(each["behind"], each["detail"]) for each in left]


@rows(
    ("thrown", "behind"),
    [((19,), "exception"), ((1, 19), None), ((), None), ((2, 8), None)],
)
def test_an_exception_that_a_process_outlived_ends_nobody(
    thrown: tuple[int, ...], behind: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Python's JSON lines: a handler that logs what it catches goes on, and is closed by a deploy."""
    path = tmp_path_factory.mktemp("thrown") / "k1.log"
    assert left_after(path, thrown, PYTHONS) == [(behind, "ValueError" if behind else None)]


@rows(
    "fields",
    [
        {"thrown": {"commonElementCount": 0, "name": BAD, "message": "bad record"}},
        {"error": {"type": BAD, "message": "bad record", "stack_trace": f"{BAD}: bad record\n\tat a.B.run(B.java:1)"}},
        {"error.type": BAD, "error.stack_trace": f"{BAD}: bad record\n\tat a.B.run(B.java:1)"},
        {"stack_trace": f"{BAD}: bad record\n\tat a.B.run(B.java:1)"},
        {"stack_trace": f"{BAD}\n\tat a.B.run(B.java:1)"},
        {"message": f"handler failed\n{BAD}: bad record\n\tat a.B.run(B.java:1)"},
    ],
)
def test_an_exception_is_read_wherever_a_layout_has_it(
    fields: Mapping[str, object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """log4j2's JsonLayout, ECS nested and flat, logstash, and lines that a collector has joined."""
    path = tmp_path_factory.mktemp("layouts") / "k1.log"
    assert left_after(path, (19,), fields) == [("exception", BAD)]


def test_a_coordinator_that_moved_is_no_restart() -> None:
    """Nothing was loaded in the first, the group moved in the others, and no rebalance came of it."""
    events = {
        name: [each["cause"] for each in group_of(name)["events"]] for name in names() if name.startswith("quiet")
    }
    assert events.pop("quiet-broker-frozen-elsewhere-3b-41") == events.pop("quiet-busy-neighbours-41") == []
    assert set(map(tuple, events.values())) == {("coordinator_moved",)}


def test_a_woken_coordinator_makes_no_generations() -> None:
    """It expires members by its old timers and cannot write that."""
    for name, node in (
        ("broker-frozen-java-3b-41", "broker-3"),
        ("broker-frozen-stale-3b-41", "broker-1"),
    ):
        alone = report([INCIDENTS / name / f"{node}.log.gz"])["groups"]
        group = next(each for each in alone if each["group"] == truth_of(name)["group"])
        assert all("session_timeout" not in each["causes"] for each in group["rebalances"])


def test_a_share_group_is_named_and_not_judged() -> None:
    document = report(files_of("share-group-beside-44", "all_files"))
    share = next(each for each in document["groups"] if each["group"] == "clicks-jobs")
    assert (share["kind"], share["rebalances"], share["events"]) == ("share", [], [])
    assert "not judged" in share["notes"][0]


def test_the_remedies_know_the_protocol_and_what_happened() -> None:
    remedies = {name: {row["cause"]: row["remedy"] for row in group_of(name)["summary"]} for name in names()}
    assert "group.initial.rebalance.delay.ms" not in str(remedies["consumer-protocol-slow-44"])
    assert "group.initial.rebalance.delay.ms" in str(remedies["rolling-deploy-41"])
    assert "group.instance.id" in remedies["rolling-deploy-41"]["member_left"]
    assert "session.timeout.ms of" in remedies["netcut-java-44"]["session_timeout"]
    assert "group.instance.id" not in remedies["netcut-java-44"]["session_timeout"]
    assert "A broker stood still" in remedies["broker-frozen-java-3b-41"]["session_timeout"]
    assert "RebalanceInProgressException" in remedies["commit-in-rebalance-41"]["member_left"]


def test_what_a_client_says_of_itself_is_told_though_no_line_names_its_group() -> None:
    """librdkafka prints no group: its poll timeouts are told as the client's, and no rebalance is dated by them."""
    (group,) = report(files_of("slow-confluent-41", "clients_only"))["groups"]
    assert (group["group"], group["kind"], group["rebalances"]) == (None, "unnamed", [])
    causes = 2 * ["poll_interval_exceeded", "member_rejoined_after_poll_timeout"]
    assert [(each["cause"], each["who"]) for each in group["events"]] == [(cause, ["thumb-2"]) for cause in causes]
    assert "max.poll.interval.ms" in str(group["notes"])


def test_clients_that_say_little_are_named() -> None:
    told = report(files_of("slow-aiokafka-41", "all_files"))["not_understood"]
    assert {(each["source"], each["client"]) for each in told} == {
        ("client-tagger-1.log", "aiokafka"),
        ("client-tagger-2.log", "aiokafka"),
    }
    assert all("poll interval" in each["why"] and each["lines"] > 0 for each in told)


def test_a_broker_that_started_long_before_it_stood_still_did_not_die(tmp_path: Path) -> None:
    """Started at 10:43:00, frozen from about 10:43:45 on: the controller takes it for gone at 10:43:54."""
    started = (
        "[2026-11-23 10:43:00,000] INFO [KafkaRaftServer nodeId=3] Kafka Server started (kafka.server.KafkaRaftServer)"
    )
    for path in files_of("broker-frozen-java-3b-41", "all_files"):
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text("utf-8")
        if path.name.startswith("broker-3"):
            lines = text.splitlines()
            late = next(number for number, line in enumerate(lines) if line[:24] > started[:24])
            text = "\n".join([*lines[:late], started, *lines[late:]])
        (tmp_path / path.name.removesuffix(".gz")).write_text(text, encoding="utf-8")
    groups = report(sorted(tmp_path.iterdir()))["groups"]
    group = next(each for each in groups if each["group"] == truth_of("broker-frozen-java-3b-41")["group"])
    behind = {each["behind"] for rebalance in group["rebalances"] for each in rebalance["stated"]}
    assert behind == {None, "broker_paused"}


@pytest.mark.parametrize(("name", "twice"), [("rmq-join", False), ("rmq-crash", False), ("rmq-duplicate-id", True)])
def test_brokers_that_write_one_file_do_not_make_a_client_id_double(name: str, twice: bool, tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "captures" / "logs" / name
    logs = [folder / f"{broker}.broker.log" for broker in ("broker-a", "broker-b")]
    lines = [line for path in logs for line in path.read_text(encoding="utf-8").splitlines() if line[:4].isdigit()]
    both = tmp_path / "broker.log"
    both.write_text("\n".join(sorted(lines, key=lambda line: line[:19])) + "\n", encoding="utf-8")
    causes = [cause for group in report([both])["groups"] for each in group["rebalances"] for cause in each["causes"]]
    assert ("duplicate_client_id" in causes, "member_joined" in causes) == (twice, True)


def test_a_line_that_comes_with_the_next_poll_is_about_the_last_leave_before_it(tmp_path: Path) -> None:
    """librdkafka's first of two such lines is missing: the member that came back may have closed the first time."""
    for file in files_of("slow-confluent-41", "all_files"):
        lines = unpacked(file).split(b"\n")
        kept = [line for line in lines if b"exceeded by 203ms" not in line]
        assert file.stem != "client-thumb-2.log" or len(kept) == len(lines) - 2
        (tmp_path / file.stem).write_bytes(b"\n".join(kept))
    told = report(sorted(tmp_path.iterdir()))
    (group,) = [each for each in told["groups"] if each["group"] == truth_of("slow-confluent-41")["group"]]
    causes = {each["generation"]: each["cause"] for each in group["rebalances"]}
    assert (causes[2], causes[4]) == (None, "poll_interval_exceeded")


def test_what_is_no_kafka_is_named_and_causes_nothing(tmp_path: Path) -> None:
    """A health check by HTTP, a scanner by TLS, and something else, in the middle of a deploy."""
    heads = {b"GET ": "HTTP", b"\x16\x03\x01\x00": "TLS", b"\xff\xf5\x00\x01": "another protocol, or more bytes"}
    for file in files_of("rolling-deploy-41", "all_files"):
        lines = unpacked(file).split(b"\n")
        for number, head in enumerate(heads if file.stem == "broker.log" else ()):
            size = int.from_bytes(head, "big", signed=True)
            lines[20 * number : 20 * number] = [
                b"[2026-11-23 10:32:10,000] WARN [SocketServer listenerType=BROKER, nodeId=1] Unexpected error from"
                b" /10.0.0.5 (channelId=1); closing connection (org.apache.kafka.common.network.Selector)",
                b"org.apache.kafka.common.network.InvalidReceiveException: Invalid receive (size = %d larger than"
                b" 104857600)" % size,
            ]
        (tmp_path / file.stem).write_bytes(b"\n".join(lines))
    told = report(sorted(tmp_path.iterdir()))
    assert judge(truth_of("rolling-deploy-41"), told).found == judged("rolling-deploy-41", "all_files").found
    assert judge(truth_of("rolling-deploy-41"), told).false == []
    whys = sorted(each["why"] for each in told["not_understood"])
    assert [why.startswith(name) for why, name in zip(whys, sorted(heads.values()), strict=True)] == [True] * 3


def test_a_client_that_knows_no_coordinator_does_not_tell_whose_fault_that_is(tmp_path: Path) -> None:
    """The only broker was killed: nobody counts the client's session until it is back."""
    said = "Consumer group session timed out (in join-state steady) after 8008 ms without a successful response from"
    told = {}
    for broker in (-1, 1):
        line = f"{said} the group coordinator (broker {broker}, last error was Success): revoking and rejoining"
        path = tmp_path / f"c{broker}.log"
        path.write_text(f"2026-11-29 18:44:15,229 WARNING kafka SESSTMOUT [c-1#consumer-1] [thrd:main]: {line}\n")
        (group,) = report([path])["groups"]
        (told[broker],) = group["events"]
    assert (told[1]["cause"], told[1]["unknown"]) == ("session_timeout", None)
    assert told[-1]["stated"] == []
    assert told[-1]["unknown"]["candidates"] == ["session_timeout", "broker_down"]


@rows(("old", "expected"), [(2, {2: "session_timeout", 3: "member_joined"}), (1, {2: "member_joined"})])
def test_what_a_broker_decided_before_it_gave_the_group_up_counts_if_the_group_goes_on_with_it(
    old: int, expected: dict[int, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A broker that was killed reads the group when it starts, ends the sessions, and reads the group once more."""
    a, b = (f"c-{n}-00000000-0000-4000-8000-00000000000{n}" for n in (1, 2))
    new = "group instance id null; client reason: not provided"
    starts = "Preparing to rebalance group g in state PreparingRebalance with old generation"
    lines = {
        "18:43:39,605": f"{starts} 0 (reason: Adding new member {a} with {new}).",
        "18:43:40,111": "Stabilized group g generation 1 with 1 members.",
        "18:44:21,366": "Loaded classic group g with 1 members.",
        "18:44:29,371": f"Member {a} in group g has failed, removing it from the group.",
        "18:44:29,373": f"{starts} 1 (reason: removing member {a} on heartbeat expiration).",
        "18:44:29,376": "Group g with generation 2 is now empty.",
        "18:44:29,931": "[GroupId=g] Unloading group metadata for generation 2.",
        "18:44:31,418": f"Loaded classic group g with {2 - old} members.",
        "18:44:31,485": f"{starts} {old} (reason: Adding new member {b} with {new}).",
        "18:44:32,488": f"Stabilized group g generation {old + 1} with 1 members.",
    }
    path = tmp_path_factory.mktemp("given-up") / "broker.log"
    head = "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3]"
    path.write_text("\n".join(f"[2026-11-29 {at}] {head} {line}" for at, line in lines.items()), encoding="utf-8")
    (group,) = report([path])["groups"]
    assert {each["generation"]: each["cause"] for each in group["rebalances"][1:]} == expected
