"""Requests about security, which is not served: they are answered as by a broker where it is switched off.

In Kafka `KafkaApis.handleSaslHandshakeRequest` and `AclApis` without an authorizer.
"""

from typing import Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import requests
from kafka_coordinator.wire.entities import Kind, make, part, response
from kafka_coordinator.wire.requests import Answer, Request
from kafka_coordinator.wire.state import BrokerState
from kafka_coordinator.wire.translation import NO_THROTTLE
from protocols.engine.nodes import Outbox, Time

_KEYS: Final = {
    requests.SaslHandshake: 17,
    requests.DescribeAcls: 29,
    requests.CreateAcls: 30,
    requests.DeleteAcls: 31,
    requests.SaslAuthenticate: 36,
}
_NO_ACLS: Final = "No authorizer is configured: ACLs are not served."
_NO_SASL: Final = "SASL is not served: connect with security.protocol=PLAINTEXT."


def refuse(state: BrokerState, now: Time, sender: str, request: Request, out: Outbox) -> None:
    """ILLEGAL_SASL_STATE for SASL, SECURITY_DISABLED for ACLs."""
    kind = response(_KEYS[type(request)], request.version)
    out.send(sender, Answer(request.correlation, _answer(kind, request)))


def _answer(kind: Kind, request: Request) -> Entity:
    if isinstance(request, requests.SaslHandshake):
        return make(kind, error_code=ErrorCode.illegal_sasl_state, mechanisms=())
    if isinstance(request, requests.SaslAuthenticate):
        return make(kind, error_code=ErrorCode.illegal_sasl_state, error_message=_NO_SASL, auth_bytes=b"")
    refusal = {"error_code": ErrorCode.security_disabled, "error_message": _NO_ACLS}
    if isinstance(request, requests.CreateAcls):
        item = part(kind, "results")
        return make(kind, throttle_time=NO_THROTTLE, results=tuple([item(**refusal) for _ in request.body.creations]))
    if isinstance(request, requests.DeleteAcls):
        item = part(kind, "filter_results")
        found = [item(**refusal, matching_acls=()) for _ in request.body.filters]
        return make(kind, throttle_time=NO_THROTTLE, filter_results=tuple(found))
    return make(kind, throttle_time=NO_THROTTLE, **refusal, resources=())
