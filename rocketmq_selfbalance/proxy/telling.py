"""Settings that the proxy completes and hands back, heartbeats, and clients that leave or are silent for too long
(``ClientActivity``, ``GrpcClientSettingsManager``; spec grpc 2.2 to 2.6)."""

from collections.abc import Iterable

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.messages.membership import SubscriptionGroup
from rocketmq_selfbalance.pop.renewing import RETRY_DELAYS_S
from rocketmq_selfbalance.proxy import checks, renewing
from rocketmq_selfbalance.proxy.checks import RefusedError
from rocketmq_selfbalance.proxy.definitions import (
    OK,
    Code,
    CustomizedBackoff,
    ExponentialBackoff,
    Metric,
    Resource,
    RetryPolicy,
    Settings,
    Status,
    duration,
)
from rocketmq_selfbalance.proxy.requests import (
    Call,
    NotifyClientTerminationRequest,
    StatusResponse,
    StreamRefused,
    Telemetry,
    TelemetryCommand,
    Told,
)
from rocketmq_selfbalance.proxy.settings import ProxySettings
from rocketmq_selfbalance.proxy.state import Client, Proxy, Stream

_PRODUCERS = RetryPolicy(3, ExponentialBackoff(duration(10), duration(1_000), 2.0))
_CONSUMERS = CustomizedBackoff(tuple(duration(each * 1000) for each in RETRY_DELAYS_S))


def completed(settings: ProxySettings, given: Settings, group: SubscriptionGroup | None) -> Settings:
    """A client's settings with what the server sets."""
    given = given._replace(metric=Metric())
    if given.publishing is not None:
        publishing = given.publishing._replace(max_body_size=settings.most_body_bytes, validate_message_type=True)
        return given._replace(backoff_policy=_PRODUCERS, publishing=publishing)
    if given.subscription is None or group is None:
        return given
    subscription = given.subscription._replace(
        fifo=group.consume_message_orderly,
        receive_batch_size=settings.receive_batch_size,
        long_polling_timeout=duration(settings.most_polling_ms),
        lite_subscription_quota=settings.lite_subscription_quota,
        max_lite_topic_size=settings.most_lite_topic_size,
    )
    policy = RetryPolicy(group.retry_max_times + 1, customized_backoff=_CONSUMERS)
    return given._replace(backoff_policy=policy, subscription=subscription)


_FAILED = "process client telemetryCommand failed. "


def telemetry(proxy: Proxy, now: Time, sender: str, message: Telemetry, out: Outbox) -> None:
    """A client says something on its stream: settings are answered, results of commands are taken note of."""
    given = message.command.settings
    if given is None:
        return
    try:
        client = _registered(proxy, now, message.client_id, given)
    except RefusedError as refused:
        out.send(sender, StreamRefused(message.correlation, refused.status.message))
        return
    proxy.clients[message.client_id] = client
    proxy.streams[message.client_id] = Stream(message.correlation, sender)
    out.send(sender, Told(message.correlation, TelemetryCommand(OK, client.settings)))


def _registered(proxy: Proxy, now: Time, client_id: str, given: Settings) -> Client:
    if not client_id:
        raise RefusedError(Code.CLIENT_ID_REQUIRED, "client id cannot be empty")
    if given.publishing is None and given.subscription is None:
        raise RefusedError(Code.BAD_REQUEST, f"{_FAILED}there is no publishing or subscription data in settings")
    for topic in _topics(given):
        checks.topic_name(topic)
    group = None
    if given.publishing is None and given.subscription is not None:
        name = checks.group_name(given.subscription.group)
        group = proxy.directory.group(name)
        if group is None:
            raise RefusedError(Code.CONSUMER_GROUP_NOT_FOUND, f"{_FAILED}group not found: {name}")
    return Client(completed(proxy.settings, given, group), now)


def _topics(given: Settings) -> Iterable[Resource | None]:
    if given.publishing is not None:
        yield from given.publishing.topics
    if given.subscription is not None:
        yield from (entry.topic for entry in given.subscription.subscriptions)


UNRECOGNIZED = StatusResponse(Status(Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client"))


def heartbeat(proxy: Proxy, now: Time, call: Call, out: Outbox) -> StatusResponse:
    """A client is there."""
    client = proxy.clients.get(call.client_id)
    if client is None:
        return UNRECOGNIZED
    client.heard = now
    return StatusResponse(OK)


def termination(proxy: Proxy, now: Time, call: Call, out: Outbox) -> StatusResponse:
    """A client leaves: what it has not acked is given back."""
    assert isinstance(call.request, NotifyClientTerminationRequest)
    if proxy.clients.pop(call.client_id, None) is None:
        return UNRECOGNIZED
    proxy.streams.pop(call.client_id, None)
    renewing.give_back(proxy, now, call.client_id, out)
    return StatusResponse(OK)


def stream_closed(proxy: Proxy, number: int) -> None:
    """A client has ended its stream."""
    for client_id, stream in proxy.streams.items():
        if stream.number == number:
            proxy.streams[client_id] = stream._replace(is_open=False)


def drop_silent(proxy: Proxy, now: Time, out: Outbox) -> None:
    """Clients without a heartbeat for too long are forgotten, and what they had is given back."""
    silent = [id for id, client in proxy.clients.items() if now - client.heard > proxy.settings.channel_expired_ms]
    for id in silent:
        del proxy.clients[id]
        proxy.streams.pop(id, None)
        renewing.give_back(proxy, now, id, out)
