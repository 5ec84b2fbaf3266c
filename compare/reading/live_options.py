"""The options of every verb that reads running clusters."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from compare.reading.time_limits import TIMEOUT_S
from protocols.errors import UserError

F = TypeVar("F", bound=Callable[..., object])


def live_cluster_options(limited: str) -> Callable[[F], F]:
    """``--command-config`` and ``--timeout``; ``limited`` says in the help what the time limit is for."""

    def add(command: F) -> F:
        config = click.option(
            "--command-config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="For kafka://: properties file of Kafka's own tools, with TLS and login settings.",
        )
        timeout = click.option(
            "--timeout",
            type=click.FloatRange(0.1, 3600),
            default=TIMEOUT_S,
            show_default=True,
            metavar="SECONDS",
            help=f"For kafka:// and rocketmq://: time limit for {limited}.",
        )
        return config(timeout(command))

    return add


def check_timeout(timeout: float) -> None:
    """`UserError` for what click takes for a number in the range, and is none."""
    if math.isnan(timeout):
        raise UserError("--timeout nan: expected seconds from 0.1 to 3600")
