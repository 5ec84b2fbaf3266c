"""What the lessons show: each block of output behind a comment ``<!-- made: NAME -->`` is written by the engine."""

import re
from collections.abc import Callable, Mapping

from tools.lessons import given_out, kafka, rocketmq, versions

MADE: Mapping[str, Callable[[], str]] = {**rocketmq.MADE, **kafka.MADE, **versions.MADE, **given_out.MADE}
"""Name to what makes the block: its text, with the fence's language in the first line."""

_BLOCK = re.compile(r"(?P<mark><!-- made: (?P<name>[\w-]+) -->\n)```.*?^```$", re.MULTILINE | re.DOTALL)


def with_made(text: str) -> str:
    """The page with every made block as the engine makes it now."""
    return _BLOCK.sub(lambda found: f"{found['mark']}```{MADE[found['name']]().rstrip()}\n```", text)
