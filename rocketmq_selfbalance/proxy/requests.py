"""The requests of RocketMQ's gRPC service and their answers; fields as in `rocketmq_selfbalance.proxy.definitions`."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from protocols.engine.nodes import Time
from rocketmq_selfbalance.proxy.definitions import (
    Assignment,
    ClientType,
    Duration,
    Endpoints,
    FilterExpression,
    Message,
    MessageQueue,
    Resolution,
    Resource,
    Settings,
    Status,
    Timestamp,
    TransactionSource,
)


class QueryRouteRequest(NamedTuple):
    topic: Resource | None = None
    endpoints: Endpoints | None = None


class QueryRouteResponse(NamedTuple):
    status: Status | None = None
    message_queues: tuple[MessageQueue, ...] = ()


class SendMessageRequest(NamedTuple):
    messages: tuple[Message, ...] = ()


class SendResultEntry(NamedTuple):
    status: Status | None = None
    message_id: str = ""
    transaction_id: str = ""
    offset: int = 0
    recall_handle: str = ""


class SendMessageResponse(NamedTuple):
    status: Status | None = None
    entries: tuple[SendResultEntry, ...] = ()


class QueryAssignmentRequest(NamedTuple):
    topic: Resource | None = None
    group: Resource | None = None
    endpoints: Endpoints | None = None


class QueryAssignmentResponse(NamedTuple):
    status: Status | None = None
    assignments: tuple[Assignment, ...] = ()


class ReceiveMessageRequest(NamedTuple):
    group: Resource | None = None
    message_queue: MessageQueue | None = None
    filter_expression: FilterExpression | None = None
    batch_size: int = 0
    invisible_duration: Duration | None = None
    auto_renew: bool = False
    long_polling_timeout: Duration | None = None
    attempt_id: str | None = None


class ReceiveMessageResponse(NamedTuple):
    """One part of the answer: exactly one field is there."""

    status: Status | None = None
    message: Message | None = None
    delivery_timestamp: Timestamp | None = None


class AckMessageEntry(NamedTuple):
    message_id: str = ""
    receipt_handle: str = ""
    lite_topic: str | None = None


class AckMessageRequest(NamedTuple):
    group: Resource | None = None
    topic: Resource | None = None
    entries: tuple[AckMessageEntry, ...] = ()


class AckMessageResultEntry(NamedTuple):
    message_id: str = ""
    receipt_handle: str = ""
    status: Status | None = None


class AckMessageResponse(NamedTuple):
    status: Status | None = None
    entries: tuple[AckMessageResultEntry, ...] = ()


class ForwardRequest(NamedTuple):
    """ForwardMessageToDeadLetterQueue."""

    group: Resource | None = None
    topic: Resource | None = None
    receipt_handle: str = ""
    message_id: str = ""
    delivery_attempt: int = 0
    max_delivery_attempts: int = 0
    lite_topic: str | None = None


class StatusResponse(NamedTuple):
    """The answer to all requests that are answered by a status alone."""

    status: Status | None = None


class HeartbeatRequest(NamedTuple):
    group: Resource | None = None
    client_type: ClientType = ClientType.CLIENT_TYPE_UNSPECIFIED


class EndTransactionRequest(NamedTuple):
    topic: Resource | None = None
    message_id: str = ""
    transaction_id: str = ""
    resolution: Resolution = Resolution.TRANSACTION_RESOLUTION_UNSPECIFIED
    source: TransactionSource = TransactionSource.SOURCE_UNSPECIFIED
    trace_context: str = ""


class NotifyClientTerminationRequest(NamedTuple):
    group: Resource | None = None


class ChangeInvisibleDurationRequest(NamedTuple):
    group: Resource | None = None
    topic: Resource | None = None
    receipt_handle: str = ""
    invisible_duration: Duration | None = None
    message_id: str = ""
    lite_topic: str | None = None
    suspend: bool | None = None


class ChangeInvisibleDurationResponse(NamedTuple):
    status: Status | None = None
    receipt_handle: str = ""


class RecallMessageRequest(NamedTuple):
    topic: Resource | None = None
    recall_handle: str = ""


class RecallMessageResponse(NamedTuple):
    status: Status | None = None
    message_id: str = ""


class Nonced(NamedTuple):
    """PrintThreadStackTraceCommand, ReconnectEndpointsCommand, VerifyMessageResult."""

    nonce: str = ""


class ThreadStackTrace(NamedTuple):
    nonce: str = ""
    thread_stack_trace: str | None = None


class VerifyMessageCommand(NamedTuple):
    nonce: str = ""
    message: Message | None = None


class RecoverOrphanedTransactionCommand(NamedTuple):
    message: Message | None = None
    transaction_id: str = ""


class TelemetryCommand(NamedTuple):
    """What either side says on the telemetry stream."""

    status: Status | None = None
    settings: Settings | None = None
    thread_stack_trace: ThreadStackTrace | None = None
    verify_message_result: Nonced | None = None
    recover_orphaned_transaction_command: RecoverOrphanedTransactionCommand | None = None
    print_thread_stack_trace_command: Nonced | None = None
    verify_message_command: VerifyMessageCommand | None = None
    reconnect_endpoints_command: Nonced | None = None


class SyncLiteSubscriptionRequest(NamedTuple):
    """Lite topics are not served: only that it is one is read."""


class Method(NamedTuple):
    """How a method is called. ``streams``: its answer comes in parts."""

    request: type[tuple[object, ...]]
    response: type[tuple[object, ...]]
    streams: bool = False


SERVICE = "apache.rocketmq.v2.MessagingService"

METHODS: Mapping[str, Method] = {
    "QueryRoute": Method(QueryRouteRequest, QueryRouteResponse),
    "Heartbeat": Method(HeartbeatRequest, StatusResponse),
    "SendMessage": Method(SendMessageRequest, SendMessageResponse),
    "QueryAssignment": Method(QueryAssignmentRequest, QueryAssignmentResponse),
    "ReceiveMessage": Method(ReceiveMessageRequest, ReceiveMessageResponse, streams=True),
    "AckMessage": Method(AckMessageRequest, AckMessageResponse),
    "ForwardMessageToDeadLetterQueue": Method(ForwardRequest, StatusResponse),
    "EndTransaction": Method(EndTransactionRequest, StatusResponse),
    "NotifyClientTermination": Method(NotifyClientTerminationRequest, StatusResponse),
    "ChangeInvisibleDuration": Method(ChangeInvisibleDurationRequest, ChangeInvisibleDurationResponse),
    "RecallMessage": Method(RecallMessageRequest, RecallMessageResponse),
    "SyncLiteSubscription": Method(SyncLiteSubscriptionRequest, StatusResponse),
}
"""All methods but Telemetry, whose stream goes both ways. PullMessage, UpdateOffset, GetOffset and QueryOffset are in
the protocol, and the real proxy does not implement them either (spec grpc 1)."""


Response: TypeAlias = tuple[object, ...]
"""A record of `rocketmq_selfbalance.proxy.requests`."""


class Call(NamedTuple):
    """A client calls a method. ``deadline``: milliseconds that it waits."""

    correlation: int
    client_id: str
    method: str
    request: Response
    deadline: Time


class Answered(NamedTuple):
    """The answer in its parts, one but for methods that stream; large ones are made when they are written."""

    correlation: int
    made: tuple[Response, ...] | Callable[[], Iterator[Response]]

    @property
    def responses(self) -> tuple[Response, ...]:
        return self.made if isinstance(self.made, tuple) else tuple(self.made())


class Cancelled(NamedTuple):
    """Nobody waits for the answer any more."""

    correlation: int


class Telemetry(NamedTuple):
    """A client says something on its stream."""

    correlation: int
    client_id: str
    command: TelemetryCommand


class Told(NamedTuple):
    """The proxy says something on a client's stream."""

    correlation: int
    command: TelemetryCommand


class StreamRefused(NamedTuple):
    """The proxy ends a client's stream with INVALID_ARGUMENT."""

    correlation: int
    why: str


class StreamClosed(NamedTuple):
    """A client's stream has ended."""

    correlation: int
