"""The door: an address in, the cluster's groups out."""

from collections.abc import Callable
from pathlib import Path

from compare.reading.kafka import join
from compare.reading.kafka_live.address import servers, shown
from compare.reading.kafka_live.isolated_process import Order, read_apart
from compare.reading.kafka_live.settings import Settings, read_settings
from compare.reading.observed import ObservedGroup, Skipped
from compare.reading.sources import TIMEOUT_S


def observe(
    address: str,
    *,
    command_config: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    progress: Callable[[str], None] = lambda text: None,
) -> list[ObservedGroup | Skipped]:
    """The consumer groups of the cluster at ``kafka://host:port[,host:port...]``, sorted by name.

    ``Skipped`` stands for what the cluster would not tell about a node or a group, or not in time. ``timeout_s`` is how
    long the whole reading may take; a single answer is waited for up to a third of it. `UserError` if nobody answers,
    the login or the settings are refused, an answer is in such a form that librdkafka breaks off, or the extra
    ``kafka`` is not installed.
    """
    source = shown(address)
    at = servers(address)
    settings = Settings() if command_config is None else read_settings(command_config)
    progress(source)
    found = read_apart(Order(at, settings, source, timeout_s), progress)
    facts = [each for each in found if not isinstance(each, Skipped)]
    skipped = [each for each in found if isinstance(each, Skipped)]
    passed_over = [] if settings.passed_over is None else [settings.passed_over]
    return [*join(facts), *passed_over, *skipped]
