"""The user and the password in ``sasl.jaas.config``, as Kafka's clients take it.

``org.apache.kafka.common.security.plain.PlainLoginModule required username="..." password="...";``

No message quotes the text: it holds a password.

Trust stores and key stores: from Kafka's settings to librdkafka's.

librdkafka takes a trust store as PEM only, and a key store as PEM or PKCS#12. What a file is, its first bytes tell;
Java, too, reads PKCS#12 where a setting says JKS.

``--command-config FILE``: the properties file that Kafka's own tools take, as settings of librdkafka.

Settings of security count or are refused: no connection may trust more, or say less of who asks, than its file wants.
Only the choice of TLS versions and ciphers is left to librdkafka. Of the other settings the client's name and the
request's time limit count. The rest (a file made for consumers has many) means nothing to an audit; it is passed over
with one line that names it, as Kafka's tools do it.
"""

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Literal

from compare.reading.observed import Skipped
from protocols import UserError, files

_LARGEST = 1024 * 1024
"""Bytes of a properties file."""

_VALUE = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s"';=]+)"""
_OPTION = re.compile(rf"(?P<name>[\w$.-]+)\s*=\s*(?P<value>{_VALUE})")
_CONFIG = re.compile(
    rf"\s*(?P<module>[\w$.]+)\s+(?i:required|requisite|sufficient|optional)"
    rf"(?P<options>(?:\s+[\w$.-]+\s*=\s*{_VALUE})*)\s*;\s*"
)
_ESCAPE = re.compile(r"\\(?:(?P<octal>[0-3][0-7]{0,2}|[4-7][0-7]?)|(?P<letter>.))", re.DOTALL)
_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

_MODULES = {"PLAIN": "PlainLoginModule", "SCRAM-SHA-256": "ScramLoginModule", "SCRAM-SHA-512": "ScramLoginModule"}
MECHANISMS = tuple(_MODULES)


def credentials(config: str, mechanism: str, place: str) -> tuple[str, str]:
    """User and password for one of `MECHANISMS`; ``place`` is what an error calls the file and line."""
    module = _MODULES[mechanism]
    expected = f'{module} required username="..." password="...";'
    found = _CONFIG.fullmatch(config)
    if found is None:
        raise UserError(f"{place}: sasl.jaas.config cannot be read, expected {expected}")
    if found["module"].rpartition(".")[2] != module:
        raise UserError(f"{place}: sasl.jaas.config names another login module, expected for {mechanism}: {expected}")
    options = {each["name"]: _unquoted(each["value"]) for each in _OPTION.finditer(found["options"])}
    if options.get("tokenauth", "false").lower() == "true":
        raise UserError(f"{place}: delegation tokens (tokenauth) are not supported, expected a user and a password")
    if not options.get("username") or not options.get("password"):
        raise UserError(f"{place}: sasl.jaas.config lacks username or password, expected {expected}")
    return options["username"], options["password"]


def _unquoted(value: str) -> str:
    """Escapes are those of Java's StreamTokenizer."""
    return _ESCAPE.sub(_escaped, value[1:-1]) if value[0] in "\"'" else value


def _escaped(found: re.Match[str]) -> str:
    return chr(int(found["octal"], 8)) if found["octal"] else _CONTROLS.get(found["letter"], found["letter"])


Format = Literal["pem", "pkcs12", "jks"]

_JAVA_STORES = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_SEQUENCE = b"\x30"
_PEM = b"-----BEGIN "
_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


def trust(given: Mapping[str, str], place: str) -> dict[str, str]:
    """Settings for the certificates that are trusted; none where the system's are."""
    if certificates := given.get("ssl.truststore.certificates"):
        return {"ssl.ca.pem": _pem(certificates, "ssl.truststore.certificates", place)}
    location = given.get("ssl.truststore.location")
    if not location:
        return {}
    found = _format(location, "ssl.truststore.location", place)
    if found != "pem":
        raise UserError(
            f"{place}: the trust store {location} is {_name(found)}, expected PEM:"
            f" keytool -list -rfc -keystore {location} > truststore.pem makes it"
        )
    return {"ssl.ca.location": location}


def key(given: Mapping[str, str], place: str) -> dict[str, str]:
    """Settings for the client's own certificate and key; none where it has none."""
    key_password = {"ssl.key.password": given["ssl.key.password"]} if given.get("ssl.key.password") else {}
    chain, private = given.get("ssl.keystore.certificate.chain"), given.get("ssl.keystore.key")
    if chain and private:
        return {
            "ssl.certificate.pem": _pem(chain, "ssl.keystore.certificate.chain", place),
            "ssl.key.pem": _pem(private, "ssl.keystore.key", place),
            **key_password,
        }
    if chain or private:
        raise UserError(f"{place}: expected ssl.keystore.certificate.chain and ssl.keystore.key together")
    location = given.get("ssl.keystore.location")
    if not location:
        return {}
    found = _format(location, "ssl.keystore.location", place)
    if found == "pem":
        return {"ssl.certificate.location": location, "ssl.key.location": location, **key_password}
    if found == "jks":
        raise UserError(
            f"{place}: the key store {location} is {_name(found)}, expected PKCS12 or PEM: keytool -importkeystore"
            f" -srckeystore {location} -destkeystore keystore.p12 -deststoretype pkcs12 makes it"
        )
    password = given.get("ssl.keystore.password")
    if not password:
        raise UserError(f"{place}: expected ssl.keystore.password for the key store {location}")
    return {"ssl.keystore.location": location, "ssl.keystore.password": password}


def _format(location: str, name: str, place: str) -> Format:
    try:
        with files.opened(Path(location)) as file:
            start = file.read(64 * 1024)
    except OSError as error:
        raise UserError(f"{place}: {name}: {location} cannot be read: {error.strerror or 'no such file'}") from None
    if start.startswith(_JAVA_STORES):
        return "jks"
    if _PEM in start:
        return "pem"
    if start.startswith(_SEQUENCE):
        return "pkcs12"
    raise UserError(f"{place}: {name}: {location} is not a certificate store, expected PEM or PKCS12")


def _name(format: Format) -> str:
    return "PKCS12" if format == "pkcs12" else "a Java key store (JKS)"


def _pem(text: str, name: str, place: str) -> str:
    """The blocks with the line breaks that OpenSSL wants; a property's value often lost them."""
    blocks = _PEM_BLOCK.findall(text)
    if not blocks:
        raise UserError(f"{place}: {name}: expected PEM, from -----BEGIN to -----END")
    lines: list[str] = []
    for label, body in blocks:
        lines += [f"-----BEGIN {label}-----", *textwrap.wrap("".join(body.split()), 64), f"-----END {label}-----"]
    return "\n".join(lines) + "\n"


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
    secrets = [given[secret] for secret in _SECRETS if given.get(secret)]
    if protocol.startswith("SASL_"):
        mechanism = given.get("sasl.mechanism", "GSSAPI")
        if mechanism not in MECHANISMS:
            at = f" line {lines['sasl.mechanism']}" if "sasl.mechanism" in lines else ""
            raise UserError(f"{place}{at}: sasl.mechanism is {mechanism}, expected {_one_of(MECHANISMS)}")
        if "sasl.jaas.config" not in given:
            raise UserError(
                f"{place}: sasl.jaas.config is missing, expected it for {mechanism}, because a separate JAAS file"
                " is not read"
            )
        at = f"{place} line {lines['sasl.jaas.config']}"
        user, password = credentials(given["sasl.jaas.config"], mechanism, at)
        values |= {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
        secrets.append(password)
    if protocol.endswith("SSL"):
        values |= trust(given, place) | key(given, place)
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
        with BytesIO(files.content(path, _LARGEST)) as file:
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
    values = {name: given[name] for name in ("client.id", "client.dns.lookup") if given.get(name)}
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
