"""The arguments of KafkaConsumer, and what the constructor refuses."""

from collections.abc import Mapping
from math import inf
from typing import Any, Final

from compare.testing.kafka_python.classes import errors

CONSUMER: Final[Mapping[str, Any]] = {
    "bootstrap_servers": "localhost",
    "client_id": "kafka-python",
    "client_rack": "",
    "group_id": None,
    "group_instance_id": None,
    "key_deserializer": None,
    "value_deserializer": None,
    "fetch_max_wait_ms": 500,
    "request_timeout_ms": 30_000,
    "retry_backoff_ms": 100,
    "auto_offset_reset": "latest",
    "enable_auto_commit": True,
    "auto_commit_interval_ms": 5000,
    "default_offset_commit_callback": lambda offsets, response: True,
    "isolation_level": "read_uncommitted",
    "metadata_max_age_ms": 300_000,
    "partition_assignment_strategy": ("range", "roundrobin"),
    "max_poll_records": 500,
    "max_poll_interval_ms": 300_000,
    "session_timeout_ms": 45_000,
    "heartbeat_interval_ms": 3000,
    "consumer_timeout_ms": inf,
    "connections_max_idle_ms": 540_000,
    "metrics_enabled": True,
}
"""Argument to its default, as of kafka-python 3.0."""
_LEFT_ASIDE: Final = frozenset(
    {
        "allow_auto_create_topics",
        "api_version",
        "bootstrap_timeout_ms",
        "check_crcs",
        "client_dns_lookup",
        "enable_incremental_fetch_sessions",
        "exclude_internal_topics",
        "fetch_max_bytes",
        "fetch_min_bytes",
        "kafka_client",
        "max_in_flight_requests_per_connection",
        "max_partition_fetch_bytes",
        "metric_group_prefix",
        "metric_reporters",
        "metrics_num_samples",
        "metrics_sample_window_ms",
        "proxy_url",
        "receive_buffer_bytes",
        "receive_message_max_bytes",
        "reconnect_backoff_max_ms",
        "reconnect_backoff_ms",
        "sasl_kerberos_domain_name",
        "sasl_kerberos_name",
        "sasl_kerberos_service_name",
        "sasl_mechanism",
        "sasl_oauth_token_provider",
        "sasl_plain_password",
        "sasl_plain_username",
        "security_protocol",
        "selector",
        "send_buffer_bytes",
        "socket_options",
        "socks5_proxy",
        "ssl_cafile",
        "ssl_certfile",
        "ssl_check_hostname",
        "ssl_ciphers",
        "ssl_context",
        "ssl_crlfile",
        "ssl_keyfile",
        "ssl_password",
    }
)
_OLD_RESETS: Final = {"smallest": "earliest", "largest": "latest"}


def checked_consumer(given: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments. Raises `KafkaConfigurationError` as kafka-python's class does."""
    unknown = set(given) - CONSUMER.keys() - _LEFT_ASIDE
    if unknown:
        raise errors.KafkaConfigurationError(f"Unrecognized configs: {unknown}")
    values = {**CONSUMER, **given}
    values["auto_offset_reset"] = _OLD_RESETS.get(values["auto_offset_reset"], values["auto_offset_reset"])
    idle, request, fetch = (
        values[name] for name in ("connections_max_idle_ms", "request_timeout_ms", "fetch_max_wait_ms")
    )
    if not fetch < request < idle:
        raise errors.KafkaConfigurationError(
            f"connections_max_idle_ms ({idle}) must be larger than request_timeout_ms ({request})"
            f" which must be larger than fetch_max_wait_ms ({fetch})."
        )
    if values["group_instance_id"] is not None and values["group_id"] is None:
        raise errors.KafkaConfigurationError("group_instance_id requires group_id")
    if values["isolation_level"] not in ("read_uncommitted", "read_committed"):
        raise errors.KafkaConfigurationError("Unrecognized isolation_level")
    if values["group_id"] is not None and not values["partition_assignment_strategy"]:
        raise errors.KafkaConfigurationError("Coordinator requires assignors")
    return values
