"""What becomes of transactions that nobody ends, in virtual time: the times are a real broker's (checked beside a real
cluster of 5.5.0 with released Java producers)."""

from itertools import count

from rocketmq_selfbalance.proxy import Call, ProxySettings, Settings, StreamClosed, Telemetry, TelemetryCommand
from rocketmq_selfbalance.proxy.definitions import (
    Code,
    Duration,
    FilterExpression,
    Message,
    MessageQueue,
    MessageType,
    Publishing,
    Resolution,
    Resource,
    Subscription,
    SystemProperties,
    Timestamp,
)
from rocketmq_selfbalance.proxy.requests import (
    Answered,
    EndTransactionRequest,
    ReceiveMessageRequest,
    RecoverOrphanedTransactionCommand,
    SendMessageRequest,
    Told,
)
from rocketmq_selfbalance.wire.rehearsal import Rehearsal, Said, subscription_group

EPOCH_S = 1_700_000_000
TOPIC = Resource(name="deals")


class Deals:
    """A cluster with one topic of transactions; every client is a producer of it."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.asked: list[tuple[float, int, str]] = []
        """When a producer was asked, the stream, and the body in question."""
        self.numbers = count(1)
        self.world = Rehearsal(
            ["broker-a"],
            {"deals": ("TRANSACTION", {"broker-a": 1})},
            [subscription_group("g", most_retries=16, in_order=False)],
            epoch_ms=EPOCH_S * 1000.0,
            settings=ProxySettings(),
            choose=lambda call, label, options: None,
            arrives=lambda call: self.world.now,
            said=self.hear,
        )

    def hear(self, said: Said) -> None:
        self.said.append(said)
        if isinstance(said, Told) and (asked := said.command.recover_orphaned_transaction_command) is not None:
            assert asked.message is not None
            self.asked.append((self.world.now / 1000, said.correlation, asked.message.body.decode()))

    def join(self, client_id: str) -> int:
        number = next(self.numbers)
        settings = Settings(publishing=Publishing((TOPIC,)))
        self.world.give(Telemetry(number, client_id, TelemetryCommand(settings=settings)))
        return number

    def call(self, client_id: str, method: str, request: tuple[object, ...]) -> int:
        number = next(self.numbers)
        self.world.give(Call(number, client_id, method, request, 30_000.0))
        self.world.run(self.world.now)
        return number

    def answer(self, number: int) -> tuple[tuple[object, ...], ...]:
        return next(each.responses for each in self.said if isinstance(each, Answered) and each.correlation == number)

    def half(self, client_id: str, body: str, recovery: Duration | None = None) -> None:
        system = SystemProperties(
            message_id=f"id-{body}",
            message_type=MessageType.TRANSACTION,
            born_timestamp=Timestamp(EPOCH_S + int(self.world.now / 1000)),
            orphaned_transaction_recovery_duration=recovery,
        )
        message = Message(TOPIC, {"mine": "1"}, system, body.encode())
        self.call(client_id, "SendMessage", SendMessageRequest((message,)))

    def end(self, body: str, resolution: Resolution) -> Code:
        asked = EndTransactionRequest(TOPIC, f"id-{body}", f"id-{body}", resolution)
        (response,) = self.answer(self.call("p1", "EndTransaction", asked))
        return response[0].code  # type: ignore[attr-defined, no-any-return]

    def run(self, seconds: float) -> None:
        """To this time; clients that are there say so."""
        for client_id in ("p1", "p2"):
            self.call(client_id, "Heartbeat", ())
        self.world.run(seconds * 1000)


def test_a_half_is_asked_about_every_30_s_from_its_sixth_second_on_and_dropped_after_15_times() -> None:
    deals = Deals()
    deals.join("p1")
    deals.run(23)
    deals.half("p1", "old")
    deals.half("p1", "patient", recovery=Duration(100))
    deals.run(25)
    deals.half("p1", "young")
    for second in range(30, 600, 30):
        deals.run(second)
    times = {body: [time for time, _, each in deals.asked if each == body] for body in ("old", "young", "patient")}
    assert times == {
        "old": [30.0 * number for number in range(1, 16)],
        "young": [30.0 * number for number in range(2, 17)],
        "patient": [30.0 * number for number in range(5, 20)],
    }


def test_any_producer_of_the_topic_is_asked_and_a_question_to_a_dead_one_is_lost() -> None:
    deals = Deals()
    first, second = deals.join("p1"), deals.join("p2")
    deals.run(21)
    deals.half("p1", "a")
    deals.half("p1", "b")
    deals.run(30)
    assert [(stream, body) for _, stream, body in deals.asked] == [(second, "a"), (first, "b")]
    deals.world.give(StreamClosed(second))
    deals.run(60)
    deals.run(90)
    asked = [(time, stream, body) for time, stream, body in deals.asked if time > 30]
    assert asked == [(60.0, first, "b"), (90.0, first, "a"), (90.0, first, "b")]


def test_what_a_producer_says_when_it_is_asked_decides() -> None:
    deals = Deals()
    deals.join("p1")
    deals.run(21)
    for body in ("kept", "dropped", "open"):
        deals.half("p1", body)
    deals.run(59)
    told = [said.command for said in deals.said if isinstance(said, Told)]
    asked = [command.recover_orphaned_transaction_command for command in told]
    question = next(each for each in asked if each is not None)
    assert isinstance(question, RecoverOrphanedTransactionCommand)
    assert question.message is not None
    expected = {"mine": "1", "__transactionId__": "id-kept", "TRANSACTION_CHECK_TIMES": "1"}
    assert (question.transaction_id, question.message.user_properties) == ("id-kept", expected)
    assert deals.end("kept", Resolution.COMMIT) == Code.OK
    assert deals.end("dropped", Resolution.ROLLBACK) == Code.OK
    assert deals.end("open", Resolution.TRANSACTION_RESOLUTION_UNSPECIFIED) == Code.OK
    assert deals.end("kept", Resolution.COMMIT) == Code.INTERNAL_SERVER_ERROR, "it is ended"
    deals.run(61)
    assert [body for time, _, body in deals.asked if time > 30] == ["open"]
    number = next(deals.numbers)
    settings = Settings(subscription=Subscription(Resource(name="g")))
    deals.world.give(Telemetry(number, "c1", TelemetryCommand(settings=settings)))
    asked_for = ReceiveMessageRequest(
        Resource(name="g"), MessageQueue(TOPIC), FilterExpression(expression="*"), 8, auto_renew=True
    )
    parts = deals.answer(deals.call("c1", "ReceiveMessage", asked_for))
    assert [part[1].body for part in parts if part[1] is not None] == [b"kept"]  # type: ignore[attr-defined]
