"""The settings of a variant, sorted by whom they concern: clients, brokers, the name server, the strategy.

All are written under RocketMQ's own names, times in milliseconds. ``version`` (``5.3``, ``4.5``) concerns everybody: it
chooses between what the releases 5.3.3 and 4.5.2 do (spec 12).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from protocols.errors import UserError
from protocols.load import changed
from rocketmq_selfbalance.broker import settings as of_broker
from rocketmq_selfbalance.broker.settings import BrokerSettings
from rocketmq_selfbalance.client import settings as of_client
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.nameserver import route_info as of_name_server
from rocketmq_selfbalance.nameserver.route_info import NameServerSettings
from rocketmq_selfbalance.registry import STRATEGIES

VERSION = of_client.VERSION

R = TypeVar("R", NameServerSettings, BrokerSettings)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a variant sets. ``client``: as given, because members may set more; see `client_settings`."""

    name_server: NameServerSettings
    broker: BrokerSettings
    client: Mapping[str, object]
    strategy: Mapping[str, object]


def configuration(given: Mapping[str, object], where: str) -> Configuration:
    """Sort and check the settings of a variant. Raises `UserError`, naming ``where``, for what nobody knows."""
    version = of_client.version_of(given, where)
    strategy_settings = {setting: None for name in STRATEGIES for setting in STRATEGIES[name].settings}
    of_clients = (*of_client.REAL_NAMES, *of_client.ONLY_DEFAULT, VERSION)
    known = (of_clients, of_broker.REAL_NAMES, of_name_server.REAL_NAMES, strategy_settings)
    for name in given:
        if not any(name in names for names in known):
            listed = ", ".join(sorted({each for names in known for each in names}))
            raise UserError(f"{where}: unknown setting {name!r} of RocketMQ, expected one of {listed}")
    found = Configuration(
        _changed(NameServerSettings(), of_name_server.VERSIONS[version], of_name_server.REAL_NAMES, given, where),
        _changed(BrokerSettings(), of_broker.VERSIONS[version], of_broker.REAL_NAMES, given, where),
        {name: value for name, value in given.items() if name in of_clients},
        {name: value for name, value in given.items() if name in strategy_settings},
    )
    client_settings(found, {}, where)
    return found


def client_settings(variant: Configuration, own: Mapping[str, object], where: str) -> ClientSettings:
    """The client settings of a member that sets some of its ``own``. Raises `UserError`, naming ``where``."""
    return of_client.with_settings(ClientSettings(), {**variant.client, **own}, where)


def _changed(
    base: R, of_version: Mapping[str, object], names: Mapping[str, str], given: Mapping[str, object], where: str
) -> R:
    changes: dict[str, object] = dict(of_version)
    for name, value in given.items():
        if name in names:
            changes[names[name]] = _checked(name, value, getattr(base, names[name]), where)
    return changed(base, changes)


def _checked(name: str, value: object, default: object, where: str) -> object:
    """The value, of the default's kind. Whole numbers are milliseconds but where the default is a count."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    match default:
        case bool():
            right, expected = isinstance(value, bool), "true or false"
        case int():
            right, expected = isinstance(number, int) and number > 0, "a whole number, 1 or more"
        case _:
            right, expected = number > 0, "milliseconds, more than 0"
    if not right:
        raise UserError(f"{where}: {name} is {value!r}, expected {expected}")
    return float(number) if isinstance(default, float) else value
