"""How a server is written: ``host``, ``host:port``, ``[::1]:port``."""

import re

SERVER = re.compile(r"(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.%]+\])(?::(?P<port>[0-9]{1,5}))?")
"""``host`` with the brackets of an IPv6 address; ``port`` is None where none is written."""
