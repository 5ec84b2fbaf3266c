"""``--command-config FILE``: the properties file that Kafka's own tools take, as settings of librdkafka.

Settings of security count or are refused: no connection may trust more, or say less of who asks, than its file wants.
Only the choice of TLS versions and ciphers is left to librdkafka. Of the other settings the client's name and the
request's time limit count. The rest (a file made for consumers has many) means nothing to an audit; it is passed over
with one line that names it, as Kafka's tools do it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compare.reading.kafka_live import jaas, stores
from compare.reading.observed import Skipped
from protocols import UserError

INSTALL = "pip install confluent-kafka javaproperties"
"""What puts the extra `kafka` of pyproject.toml beside an Equipoise that is installed in any way."""
MISSING_EXTRA = f"kafka:// needs two additional packages, expected after: {INSTALL}"

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_SECRETS = (
    "sasl.jaas.config",
    "ssl.key.password",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.password",
)
_READ = frozenset(
    {
        *_SECRETS,
        "client.dns.lookup",
        "client.id",
        "request.timeout.ms",
        "sasl.mechanism",
        "security.protocol",
        "ssl.endpoint.identification.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
    }
)
_OF_JAVA_ALONE = frozenset(
    {
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)
"""They choose among what Java offers; librdkafka chooses for itself (TLS 1.2 or newer)."""
_MUST_COUNT = ("config.providers", "sasl.", "security.", "ssl.")
_BLANKS = "".join(map(chr, range(0x21)))
"""What Kafka's clients cut off at both ends of a value."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_REQUEST_MS = (10, 300_000)
"""The range that librdkafka takes; longer and shorter ones are cut to it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``values`` under librdkafka's names. ``secrets`` are the texts that no message may show."""

    place: str = ""
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    passed_over: Skipped | None = None


def read_settings(path: Path) -> Settings:
    """The settings of a properties file; `UserError` naming file and setting, never a secret."""
    given, lines = _properties(path)
    place = str(path)
    refused = [each for each in given if each.startswith(_MUST_COUNT) and each not in _READ | _OF_JAVA_ALONE]
    if refused:
        raise UserError(
            f"{place} line {lines[refused[0]]}: {refused[0]} is not supported, expected settings of Kafka's Java"
            " clients for PLAIN, SCRAM or certificates"
        )
    values = _of_client(given, place)
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise UserError(f"{place} line {lines['security.protocol']}: expected {_one_of(_PROTOCOLS)}")
    values["security.protocol"] = protocol
    secrets = [given[each] for each in _SECRETS if given.get(each)]
    if protocol.startswith("SASL_"):
        mechanism = given.get("sasl.mechanism", "GSSAPI")
        if mechanism not in jaas.MECHANISMS:
            at = f" line {lines['sasl.mechanism']}" if "sasl.mechanism" in lines else ""
            raise UserError(f"{place}{at}: sasl.mechanism is {mechanism}, expected {_one_of(jaas.MECHANISMS)}")
        if "sasl.jaas.config" not in given:
            raise UserError(
                f"{place}: sasl.jaas.config is missing, expected it for {mechanism}, because a separate JAAS file"
                " is not read"
            )
        at = f"{place} line {lines['sasl.jaas.config']}"
        user, password = jaas.credentials(given["sasl.jaas.config"], mechanism, at)
        values |= {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
        secrets.append(password)
    if protocol.endswith("SSL"):
        values |= stores.trust(given, place) | stores.key(given, place)
        values["ssl.endpoint.identification.algorithm"] = _host_check(given, place)
    unused = [each for each in given if each not in _READ and each != "bootstrap.servers"]
    return Settings(place, values, tuple(secrets), _passed_over(place, unused, lines))


def _properties(path: Path) -> tuple[dict[str, str], dict[str, int]]:
    """The settings and the lines, from 1, on which they stand; the last one of a name counts, as in Java."""
    try:
        import javaproperties
    except ImportError:
        raise UserError(MISSING_EXTRA) from None
    given: dict[str, str] = {}
    lines: dict[str, int] = {}
    line = 1
    try:
        with path.open("rb") as file:
            for element in javaproperties.parse(file):
                if isinstance(element, javaproperties.KeyValue):
                    given[element.key], lines[element.key] = element.value.strip(_BLANKS), line
                line += len(_LINE_END.findall(element.source))
    except OSError as error:
        why = error.strerror or "no such file"
        raise UserError(f"--command-config {path} cannot be read: {why}, expected a properties file") from None
    except javaproperties.InvalidUEscapeError:
        raise UserError(f"{path} line {line}: expected four hexadecimal digits after \\u") from None
    return given, lines


def _of_client(given: Mapping[str, str], place: str) -> dict[str, str]:
    values = {each: given[each] for each in ("client.id", "client.dns.lookup") if given.get(each)}
    if timeout := given.get("request.timeout.ms"):
        if not timeout.isdecimal():
            raise UserError(f"{place}: expected a number of milliseconds as request.timeout.ms")
        least, most = _REQUEST_MS
        values["socket.timeout.ms"] = str(min(max(int(timeout), least), most))
    return values


def _host_check(given: Mapping[str, str], place: str) -> str:
    name = "ssl.endpoint.identification.algorithm"
    algorithm = given.get(name, "https").lower()
    if algorithm not in ("", "https"):
        raise UserError(f"{place}: {name}: expected https, or an empty value to disable host name verification")
    return algorithm or "none"


def _passed_over(place: str, names: list[str], lines: Mapping[str, int]) -> Skipped | None:
    if not names:
        return None
    return Skipped(place, lines[names[0]], f"settings without effect on an audit: {', '.join(names)}")


def _one_of(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
