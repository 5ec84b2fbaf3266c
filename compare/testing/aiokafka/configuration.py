"""The arguments of AIOKafkaConsumer, and what the constructor refuses."""

import warnings
from collections.abc import Mapping
from typing import Any, Final

from compare.testing.aiokafka.classes import Assignor

CONSUMER: Final[Mapping[str, Any]] = {
    "loop": None,
    "bootstrap_servers": "localhost",
    "client_id": "aiokafka",
    "group_id": None,
    "group_instance_id": None,
    "key_deserializer": None,
    "value_deserializer": None,
    "fetch_max_wait_ms": 500,
    "fetch_max_bytes": 52428800,
    "fetch_min_bytes": 1,
    "max_partition_fetch_bytes": 1048576,
    "request_timeout_ms": 40_000,
    "retry_backoff_ms": 100,
    "auto_offset_reset": "latest",
    "enable_auto_commit": True,
    "auto_commit_interval_ms": 5000,
    "check_crcs": True,
    "metadata_max_age_ms": 300_000,
    "partition_assignment_strategy": (Assignor("roundrobin"),),
    "max_poll_interval_ms": 300_000,
    "rebalance_timeout_ms": None,
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 3000,
    "consumer_timeout_ms": 200,
    "max_poll_records": None,
    "ssl_context": None,
    "security_protocol": "PLAINTEXT",
    "api_version": None,
    "exclude_internal_topics": True,
    "connections_max_idle_ms": 540_000,
    "isolation_level": "read_uncommitted",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_password": None,
    "sasl_plain_username": None,
    "sasl_kerberos_service_name": "kafka",
    "sasl_kerberos_domain_name": None,
    "sasl_oauth_token_provider": None,
    "client_rack": None,
}
"""Argument to its default, as of aiokafka 0.14."""
_PROTOCOLS: Final = ("SSL", "PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL")


def checked(who: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a constructor. Raises `TypeError` for one that it has not got, and `ValueError` as aiokafka's
    client does."""
    for name in given:
        if name not in defaults:
            raise TypeError(f"{who}.__init__() got an unexpected keyword argument '{name}'")
    values = {**defaults, **given}
    if values.get("api_version") is not None:
        warnings.warn("The `api_version` parameter is deprecated and does nothing", DeprecationWarning, stacklevel=4)
    if values["security_protocol"] not in _PROTOCOLS:
        raise ValueError("`security_protocol` should be SSL or PLAINTEXT")
    if values["security_protocol"] in ("SSL", "SASL_SSL") and values["ssl_context"] is None:
        raise ValueError("`ssl_context` is mandatory if security_protocol=='SSL'")
    return values


def checked_consumer(given: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of AIOKafkaConsumer."""
    most = given.get("max_poll_records")
    if most is not None and (not isinstance(most, int) or most < 1):
        raise ValueError("`max_poll_records` should be positive Integer")
    values = checked("AIOKafkaConsumer", given, CONSUMER)
    if values["rebalance_timeout_ms"] is None:
        values["rebalance_timeout_ms"] = values["session_timeout_ms"]
    return values
