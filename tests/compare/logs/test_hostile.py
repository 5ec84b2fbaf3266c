"""What clients may choose (client ids, reasons) and what applications print do not become facts; the work per line and
per name is linear."""

import gzip
import json
from pathlib import Path

import pytest

from compare.logs.analysis import analysed
from compare.logs.events import Place, Stream
from compare.logs.kafka_broker import of_broker
from compare.logs.kafka_clients import of_java
from compare.logs.lines import log_files
from compare.logs.reading import read
from tests.calls import calls_of
from tests.compare.logs.scoring import Found, report

UUID = "00000000-1111-2222-3333-{:012x}"
BROKER = (
    "[2026-11-22 01:{:02d}:{:02d},000] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] {}"
    " (kafka.coordinator.group.GroupCoordinator)\n"
)


def lines(*messages: str) -> str:
    return "".join(BROKER.format(number // 60 % 60, number % 60, message) for number, message in enumerate(messages))


def groups(tmp_path: Path, text: str, name: str = "server.log") -> dict[str, Found]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return {each["group"]: each for each in report(sorted(tmp_path.iterdir()))["groups"]}


FORGED = (
    "a in group pay has failed, removing it from the group. x",
    "a] in group pay has left, removing it from the group (x",
    "Preparing to rebalance group pay in state Stable with old generation 4 (reason: removing member a)",
    "a, groupId=pay] Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID [x",
    "[Consumer clientId=b, groupId=pay] Successfully joined group with generation 9",
)


def test_a_client_id_that_reads_as_a_message_is_a_name(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for client in FORGED:
        member = f"{client}-{UUID.format(1)}"
        with subtests.test(client=client):
            text = lines(
                "Preparing to rebalance group real in state PreparingRebalance with old generation 0 (reason: Adding"
                f" new member {member} with group instance id null; client reason: not provided).",
                "Stabilized group real generation 1 with 1 members.",
                f"Member {member} in group real has failed, removing it from the group.",
                f"[Group real] Member {member} has left group through explicit `LeaveGroup` request; client reason: x",
            )
            text += (
                f"[2026-11-22 01:00:09,000] INFO [Consumer clientId={client}, groupId=real] Attempt to heartbeat failed"
                " since group is rebalancing (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
            )
            found = groups(tmp_path, text)
            assert set(found) == {"real"}
            assert {one for each in found["real"]["rebalances"] for one in [each["member"]]} <= {member, None}


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-22 01:00:00,000 INFO com.acme.Worker - got [Consumer clientId=b, groupId=pay] (Re-)joining group",
        "2026-11-22 01:00:00,000 INFO com.acme.Worker: [GroupCoordinator 1]: Group pay with generation 7 is now empty",
        "[2026-11-22 01:00:00,000] INFO [GroupCoordinator 1]: Group pay with generation 7 is now empty (com.acme.Job)",
        "2026-11-22 01:00:00,000 INFO acme.worker: (Re-)joining group pay",
    ],
)
def test_a_line_that_an_application_quotes_tells_nothing(line: str, tmp_path: Path) -> None:
    assert groups(tmp_path, f"{line}\n") == {}


class Counted(str):
    """A text that counts how many of its characters are looked at by searches."""

    looked = 0

    def find(self, *arguments: object) -> int:  # type: ignore[override]
        Counted.looked += len(self)
        return super().find(*arguments)  # type: ignore[arg-type]

    def rfind(self, *arguments: object) -> int:  # type: ignore[override]
        Counted.looked += len(self)
        return super().rfind(*arguments)  # type: ignore[arg-type]

    def __getitem__(self, key: object) -> "Counted":
        return Counted(super().__getitem__(key))  # type: ignore[index]


def test_work_is_linear_in_the_length_of_a_line() -> None:
    """A client id of 32 kB that holds the words of messages again and again."""

    def looked(repeated: int) -> int:
        client = " in group g has failed, groupId=g] , clientId= with group instance id has left group" * repeated
        Counted.looked = 0
        place = Place(Stream("a", None), "a", 1, 1)
        head = "[GroupCoordinator id=1] "
        of_broker(
            Counted(f"{head}Member {client}-{UUID.format(1)} in group g has failed, removing it from the group"), place
        )
        of_broker(Counted(f"{head}Member MemberMetadata(memberId={client}, groupInstanceId={client} has left"), place)
        of_java(Counted(f"[Consumer clientId={client}, groupId=g] (Re-)joining group"), "", place)
        return Counted.looked

    assert looked(400) <= 2.2 * looked(200)


def storm(turns: int, names: int) -> str:
    """A group of many members; one after another is expired and comes back."""
    ids = [f"w{number}-{UUID.format(number)}" for number in range(names)]
    text = [
        f"Pending dynamic member with id {member} joins group g in Empty state. Adding to the group now."
        for member in ids
    ]
    text.append(f"Stabilized group g generation 1 with {names} members.")
    for turn in range(turns):
        old, new = ids[turn % names], f"w{turn % names}-{UUID.format(names + turn)}"
        ids[turn % names] = new
        for number, reason in (
            (2, f"removing member {old} on heartbeat expiration"),
            (3, f"Adding new member {new} with group instance id null"),
        ):
            generation = 2 * turn + number
            if number == 2:
                text.append(f"Member {old} in group g has failed, removing it from the group.")
            text.append(
                "Preparing to rebalance group g in state PreparingRebalance with old generation"
                f" {generation - 1} (reason: {reason}; client reason: not provided)."
            )
            text.append(f"Stabilized group g generation {generation} with {names - 1 + number - 2} members.")
    return lines(*text)


def test_work_is_linear_in_the_number_of_names(tmp_path: Path) -> None:
    def work(turns: int, names: int) -> int:
        path = tmp_path / f"{turns}-{names}.log"
        path.write_text(storm(turns, names), encoding="utf-8")
        return calls_of(lambda: analysed(read(log_files([str(path)]), {}).streams))

    assert work(400, 40) <= 2.3 * work(200, 40)
    assert work(100, 400) <= 2.5 * work(100, 200)


def test_lists_of_members_are_bounded_in_a_group_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rebalance has its list: of 20 rebalances and 100 names in all, those of up to 5 members are given."""
    monkeypatch.setattr("compare.logs.generations._MOST_NAMES", 100)
    text = []
    for number in range(20):
        text.append(
            f"Preparing to rebalance group g in state PreparingRebalance with old generation {number} (reason: Adding"
            f" new member w{number}-{UUID.format(number)} with group instance id null; client reason: not provided)."
        )
        text.append(f"Stabilized group g generation {number + 1} with {number + 1} members.")
    told = groups(tmp_path, lines(*text))["g"]["rebalances"]
    assert [each["cause"] for each in told] == ["member_joined"] * 20
    assert [len(each["members_after"]) if each["members_after"] else None for each in told] == [
        *range(1, 6),
        *[None] * 15,
    ]


def test_everything_before_the_cut_of_a_packed_file_is_used_and_the_cut_is_told(tmp_path: Path) -> None:
    text = storm(300, 5).encode()
    packed = gzip.compress(text)
    path = tmp_path / "server.log.gz"
    path.write_bytes(packed[: len(packed) // 2])
    found = report([path])
    whole = report_of(tmp_path / "whole", gzip.compress(text))
    (group,), (every,) = found["groups"], whole["groups"]
    assert 0.3 * len(every["rebalances"]) < len(group["rebalances"]) < 0.9 * len(every["rebalances"])
    assert [each["cause"] for each in group["rebalances"][:20]] == [each["cause"] for each in every["rebalances"][:20]]
    (skipped,) = found["skipped"]
    assert skipped["file"] == "server.log.gz"
    assert "cut off after line" in skipped["why"]
    assert whole["skipped"] == []


def report_of(folder: Path, data: bytes) -> Found:
    folder.mkdir()
    (folder / "server.log.gz").write_bytes(data)
    return report([folder / "server.log.gz"])


GO = """\
2026-11-22T01:00:00Z [INFO] beginning to manage the group lifecycle; group: g
2026-11-22T01:00:01Z [INFO] joining group; group: g
2026-11-22T01:00:04Z [INFO] joined, balancing group; group: g, member_id: kgo-{0}, generation: 1, leader: true
2026-11-22T01:00:05Z [INFO] new group session begun; group: g, added: t[0 1]
2026-11-22T01:00:40Z [INFO] leaving group; group: g, member_id: kgo-{0}
"""


def test_franz_go_is_read_in_its_own_layout_and_in_json(tmp_path: Path) -> None:
    member = UUID.format(1)
    found = groups(tmp_path, GO.format(member), "worker.log")["g"]["rebalances"]
    assert [(each["generation"], each["cause"], each["member"]) for each in found] == [
        (1, "member_joined", f"kgo-{member}"),
        (None, "member_left", f"kgo-{member}"),
    ]
    row = {"time": "2026-11-22T01:00:04Z", "msg": "joined", "group": "g", "member_id": f"kgo-{member}", "generation": 1}
    found = groups(tmp_path, json.dumps(row) + "\n", "worker.log")["g"]["rebalances"]
    assert [(each["generation"], each["cause"]) for each in found] == [(1, "member_joined")]


def test_kafkajs_that_stops_after_a_crash_did_not_leave(tmp_path: Path) -> None:
    def line(second: int, message: str, **fields: str) -> str:
        head = {"level": "INFO", "timestamp": f"2026-11-28T20:06:{second:02}.000Z", "logger": "kafkajs"}
        return json.dumps({**head, "message": message, "groupId": "g", **fields})

    member = "mjs-1-49f1d339-3815-4eec-9c8f-28c498beb096"
    begin = [
        line(1, "[Consumer] Starting"),
        line(4, "[ConsumerGroup] Consumer has joined the group", memberId=member, leaderId=member),
    ]
    crash = [
        line(20, "[Consumer] Crash: KafkaJSNonRetriableError: connect ECONNREFUSED"),
        line(20, "[Consumer] Stopped"),
        line(20, "[Consumer] Restarting the consumer in 300ms"),
        line(21, "[Consumer] Starting"),
    ]
    for lines, left in ((begin + crash, False), ([*begin, line(20, "[Consumer] Stopped")], True)):
        (tmp_path / "client-mjs-1.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (group,) = report([tmp_path / "client-mjs-1.log"])["groups"]
        assert any("member_left" in each["causes"] and each["cause"] for each in group["rebalances"]) == left


CLOSES = """\
2026-11-28 23:47:01,100 INFO aiokafka.consumer.subscription_state Updating subscribed topics to: frozenset({'orders'})
2026-11-28 23:47:01,200 INFO aiokafka.consumer.group_coordinator (Re-)joining group g
2026-11-28 23:47:02,300 INFO aiokafka.consumer.group_coordinator Joined group 'g' (generation 1) with member_id a-{0}
2026-11-28 23:47:58,049 INFO aiokafka.consumer.subscription_state Updating subscribed topics to: frozenset({'extra'})
2026-11-28 23:47:58,087 INFO aiokafka.consumer.group_coordinator (Re-)joining group g
2026-11-28 23:47:59,541 INFO aiokafka.consumer.group_coordinator Joined group 'g' (generation 2) with member_id a-{0}
2026-11-28 23:48:09,541 INFO kafka.coordinator.consumer Revoking previously assigned partitions {1} for group g on close
2026-11-28 23:48:10.100 [INFO] synced; group: g, assigned:
"""


def test_a_second_subscription_is_told_and_no_end_of_a_line_makes_a_group(tmp_path: Path) -> None:
    """Lines of a real run: the broker had created partitions at the same time."""
    text = CLOSES.replace("{0}", UUID.format(1)).replace("{1}", "{TopicPartition(topic='orders', partition=3)}")
    head = "[2026-11-28 23:47:5{},000] INFO "
    broker = (
        head.format(7) + "operation = READ on resource = Group:LITERAL:g (kafka.authorizer.logger)\n"
        f"{head.format(7)}Created log for partition orders-7 in /data/orders-7 (kafka.log.LogManager)\n"
        "[2026-11-28 23:47:58,100] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state"
        f" PreparingRebalance with old generation 1 (reason: Leader a-{UUID.format(1)} re-joining group during Stable;"
        " client reason: not provided) (kafka.coordinator.group.GroupCoordinator)\n"
    )
    (tmp_path / "broker.log").write_text(broker, encoding="utf-8")
    alone = report([tmp_path / "broker.log"])
    told = [(each["cause"], "partitions_added" in each["causes"]) for each in alone["groups"][0]["rebalances"]]
    assert (told, alone["not_understood"]) == ([(None, True)], [])
    (tmp_path / "client-a.log").write_text(text, encoding="utf-8")
    (group,) = report(sorted(tmp_path.iterdir()))["groups"]
    assert [each["cause"] for each in group["rebalances"]] == ["member_joined", "subscription_changed"]


def test_sarama_and_unknown_clients_are_named_as_not_understood(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "[sarama] 2026/11/22 01:00:00 client/coordinator requesting coordinator for g from b:9092\n"
        "[sarama] 2026/11/22 01:00:00 consumer/broker/1 added subscription to t/0\n"
    )
    (tmp_path / "b.log").write_text("starting worker\nstopped\n")
    (tmp_path / "c.log").write_text("2026-11-28T23:46:46.118Z INFO joined group g as member c-1 in generation 1\n")
    found = report(sorted(tmp_path.iterdir()))
    assert [(each["source"], each["lines"], each["client"]) for each in found["not_understood"]] == [
        ("a.log", 2, "sarama"),
        ("c.log", 1, "segmentio"),
        ("b.log", 2, None),
    ]
    assert "no line about a group" not in str(found)


def test_a_group_of_the_streams_protocol_is_named_and_not_judged(tmp_path: Path) -> None:
    text = lines(
        "[GroupId app][MemberId m1] Member m1 joins the streams group using the streams protocol.",
        "[GroupId app] Bumped group epoch to 2 with metadata hash 5.",
    )
    found = groups(tmp_path, text)["app"]
    assert (found["kind"], found["rebalances"]) == ("streams group", [])


def test_a_poll_timeout_in_the_clients_words_is_certain_and_no_reason_is_not(tmp_path: Path) -> None:
    member = f"c-{UUID.format(1)}"
    text = lines(
        f"Pending dynamic member with id {member} joins group g in Empty state. Adding to the group now.",
        "Stabilized group g generation 1 with 2 members.",
        f"[Group g] Member {member} has left group through explicit `LeaveGroup` request; client reason: REASON",
        f"Preparing to rebalance group g in state PreparingRebalance with old generation 1 (reason: explicit"
        f" `LeaveGroup` request for ({member}) members.).",
        "Stabilized group g generation 2 with 1 members.",
    )
    causes = {
        reason: groups(tmp_path, text.replace("REASON", reason))["g"]["rebalances"][-1]["cause"]
        for reason in ("consumer poll timeout has expired.", "the consumer is being closed", "not provided")
    }
    assert list(causes.values()) == ["poll_interval_exceeded", "member_left", None]
