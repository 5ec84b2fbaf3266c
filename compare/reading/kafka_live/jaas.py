"""The user and the password in ``sasl.jaas.config``, as Kafka's clients take it.

``org.apache.kafka.common.security.plain.PlainLoginModule required username="..." password="...";``

No message quotes the text: it holds a password.
"""

import re

from protocols import UserError

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
