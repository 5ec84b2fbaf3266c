"""Trust stores and key stores: from Kafka's settings to librdkafka's.

librdkafka takes a trust store as PEM only, and a key store as PEM or PKCS#12. What a file is, its first bytes tell;
Java, too, reads PKCS#12 where a setting says JKS.
"""

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from protocols import UserError

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
        with Path(location).open("rb") as file:
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
