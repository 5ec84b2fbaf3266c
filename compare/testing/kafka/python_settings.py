"""Arguments of the constructors of Python's clients, as the model wants them: Kafka's own names."""

from collections.abc import Iterable, Mapping
from typing import Final

from protocols.errors import UserError

_NAMES: Final[Mapping[str, str]] = {
    name: name.replace("_", ".")
    for name in (
        "session_timeout_ms",
        "heartbeat_interval_ms",
        "max_poll_interval_ms",
        "rebalance_timeout_ms",
        "enable_auto_commit",
        "auto_commit_interval_ms",
        "retry_backoff_ms",
        "metadata_max_age_ms",
    )
}
"""Argument to the setting of the model's client that it is."""
_KNOWN_ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")


def model_settings(
    values: Mapping[str, object], given: Mapping[str, object], group_settings: Mapping[str, object], reset: str
) -> dict[str, object]:
    """Settings of the model's client. ``values``: all arguments with the client's defaults; ``given``: those that the
    user's code names: the group's settings hold where it names nothing."""
    found: dict[str, object] = {}
    for argument, name in _NAMES.items():
        if argument in values and (argument in given or name not in group_settings):
            found[name] = values[argument]
    if "partition_assignment_strategy" in given:
        assignors = given["partition_assignment_strategy"]
        found["partition.assignment.strategy"] = ",".join(assignor_names(assignors))  # type: ignore[arg-type]
    found["auto.offset.reset"] = "earliest" if reset == "earliest" else "latest"
    return found


def reset_of(values: Mapping[str, object], given: Mapping[str, object], group_settings: Mapping[str, object]) -> str:
    """``auto_offset_reset``: the user's code says it, else the group's settings, else the client's default. Words that
    the client does not know mean ``none``, as to the client."""
    said = group_settings.get("auto.offset.reset") if "auto_offset_reset" not in given else None
    word = str(said or values["auto_offset_reset"])
    return word if word in ("earliest", "latest") else "none"


def assignor_names(assignors: Iterable[object]) -> list[str]:
    """Names of assignor classes. `UserError` for one that the model has not got."""
    found = [str(getattr(each, "name", each)) for each in assignors]
    for name in found:
        if name not in _KNOWN_ASSIGNORS:
            raise UserError(f"assignor {name!r} is not modelled, expected one of {', '.join(_KNOWN_ASSIGNORS)}")
    return found
