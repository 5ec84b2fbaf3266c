"""The clusters that are watched, as the user names them.

A live address is a cluster, and so is a folder; single files together are one, because several files tell of one group.
``NAME=ADDRESS`` and ``NAME=FOLDER`` give a cluster its name; before a file it is the group's, as in the audit.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from compare.reading import kafka_live, rocketmq_live
from compare.reading.kafka_live.address import servers
from compare.reading.kafka_live.settings import MISSING_EXTRA
from compare.reading.rocketmq_live.address import name_servers
from protocols import UserError

FILES = "files"
"""Name of the cluster that single files make."""

_LIVE = (kafka_live.SCHEME, rocketmq_live.SCHEME)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Source:
    """A cluster: its ``name`` (letters, digits, ``.``, ``_``, ``-``), and the audit's ``arguments`` that tell of it."""

    name: str
    arguments: tuple[str, ...]


def sources_of(arguments: Sequence[str]) -> list[Source]:
    """The clusters in the order given; `UserError` for what cannot be watched, and for two clusters of one name."""
    found: dict[str, list[str]] = {}
    for argument in dict.fromkeys(arguments):
        if argument == "-":
            raise UserError("-: standard input can be read only once, expected files, folders or live addresses")
        name, source = _named(argument)
        if name in found and name != FILES:
            raise UserError(f"{source}: the cluster {name} is watched already, expected another NAME={source}")
        found.setdefault(name, []).append(source)
    return [Source(name, tuple(of_name)) for name, of_name in found.items()]


def _named(argument: str) -> tuple[str, str]:
    given, separator, rest = argument.partition("=")
    named = bool(separator) and not os.path.exists(argument) and not argument.startswith(_LIVE)
    source = rest if named and (rest.startswith(_LIVE) or os.path.isdir(rest)) else argument
    if source.startswith(_LIVE):
        _check_address(source)
        derived = kafka_live.shown(source).replace("://", "-").rstrip("/")
    elif os.path.isdir(source):
        derived = Path(source).resolve().name or "root"
    else:
        path = rest if named else argument
        if not os.path.exists(path):
            raise UserError(f"{path}: there is no such file, expected a file, a folder, kafka:// or rocketmq://")
        return FILES, argument
    if source is argument:
        return _OTHER.sub("-", derived).strip("-")[:100] or "cluster", source
    if not _NAME.fullmatch(given):
        raise UserError(f"{argument}: expected a cluster name of letters, digits, '.', '_' and '-' before =")
    return given, source


def _check_address(address: str) -> None:
    """`UserError` now for what no later poll could mend."""
    if address.startswith(rocketmq_live.SCHEME):
        name_servers(address)
        return
    servers(address)
    if find_spec("confluent_kafka") is None:
        raise UserError(MISSING_EXTRA)
