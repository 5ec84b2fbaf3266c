"""A push consumer of RocketMQ's 5.x line with one fault, written for tests: ENDPOINTS TOPIC GROUP FAULT."""

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc

from rocketmq_selfbalance.proxy import definitions as of
from rocketmq_selfbalance.proxy import requests as ask
from rocketmq_selfbalance.proxy.protobuf import decode, encode

endpoints, topic, group, fault = sys.argv[1:]
SLOW_S = int(os.environ.get("EQUIPOISE_CALLBACK_MS", "0")) / 1000
FAILS = os.environ.get("EQUIPOISE_FAIL_FIRST") is not None
TOPIC, GROUP = of.Resource(name=topic), of.Resource(name=group)
CLIENT = [("x-mq-client-id", f"test-{os.getpid()}")]
INVISIBLE = of.duration(10_000)

channel = grpc.insecure_channel(endpoints)
said: queue.Queue[Any] = queue.Queue()
running, first = True, True
forgotten: set[bytes] = set()


def stop(number: int, frame: object) -> None:
    global running
    running = False
    if fault == "leaves them":
        os._exit(0)


def call(name: str, request: Any) -> Any:
    """The answer; of a method that streams its parts."""
    path, method = f"/{ask.SERVICE}/{name}", ask.METHODS[name]
    make = channel.unary_stream if method.streams else channel.unary_unary
    called = make(path, request_serializer=encode, response_deserializer=lambda raw: decode(method.response, raw))
    answer = called(request, metadata=CLIENT, timeout=20)
    return list(answer) if method.streams else answer


def tell_settings() -> None:
    subscription = of.Subscription(GROUP, (of.SubscriptionEntry(TOPIC, of.FilterExpression(expression="*")),))
    settings = of.Settings(client_type=of.ClientType.PUSH_CONSUMER, subscription=subscription)
    said.put(ask.TelemetryCommand(settings=settings))
    stream = channel.stream_stream(
        f"/{ask.SERVICE}/Telemetry", request_serializer=encode, response_deserializer=lambda raw: raw
    )
    answers: Iterator[bytes] = stream(iter(said.get, None), metadata=CLIENT)
    next(answers)
    threading.Thread(target=lambda: list(answers), daemon=True).start()


def beat() -> None:
    while fault != "no heartbeat":
        call("Heartbeat", ask.HeartbeatRequest(GROUP, of.ClientType.PUSH_CONSUMER))
        time.sleep(10)


def handle(message: Any) -> None:
    global first
    system = message.system_properties
    about: dict[str, Any] = {"receipt_handle": system.receipt_handle, "message_id": system.message_id}
    special, first = first, False
    if FAILS and special:
        if fault != "drops":
            call(
                "ChangeInvisibleDuration",
                ask.ChangeInvisibleDurationRequest(GROUP, TOPIC, invisible_duration=INVISIBLE, **about),
            )
            return
    else:
        time.sleep(SLOW_S)
        print(message.body.decode(), 1 if fault == "miscounts" else system.delivery_attempt, flush=True)
    if fault == "old handle":
        change = ask.ChangeInvisibleDurationRequest(GROUP, TOPIC, invisible_duration=INVISIBLE, **about)
        call("ChangeInvisibleDuration", change)
    if system.delivery_attempt == 1 and system.queue_offset % 5 == 0:
        forgotten.add(message.body)
    if fault != "forgets" or message.body not in forgotten:
        call("AckMessage", ask.AckMessageRequest(GROUP, TOPIC, (ask.AckMessageEntry(**about),)))


def receive(at: Any) -> None:
    asked = ask.ReceiveMessageRequest(
        GROUP, at, of.FilterExpression(expression="*"), 32, INVISIBLE, False, of.duration(5_000)
    )
    parts = call("ReceiveMessage", asked)
    status = parts[0].status
    if fault == "ends at an error" and status.code == of.Code.INTERNAL_SERVER_ERROR:
        raise SystemExit(3)
    messages = [part.message for part in parts if part.message is not None]
    for message in reversed(messages) if fault == "reverses" else messages:
        handle(message)


def end_with_parent() -> None:
    """Who is to judge us may have been killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


parent = os.getppid()
threading.Thread(target=end_with_parent, daemon=True).start()
signal.signal(signal.SIGTERM, stop)
assigned = call("QueryAssignment", ask.QueryAssignmentRequest(TOPIC, GROUP, of.Endpoints())).assignments
if fault == "settings late":
    receive(assigned[0].message_queue)
tell_settings()
threading.Thread(target=beat, daemon=True).start()
while running:
    for each in assigned:
        receive(each.message_queue)
    if fault == "reverses":
        time.sleep(1.5)
call("NotifyClientTermination", ask.NotifyClientTerminationRequest(GROUP))
os._exit(0)
