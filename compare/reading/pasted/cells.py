"""Find the cells in a row of Kafka's tables whose padding was replaced: by what may stand in each column."""

import re
from collections.abc import Sequence
from functools import lru_cache

_NAME = r"(\S[^\t]*?)"
_NUMBER = r"(-|-?[0-9]+)"
_WORD = r"(\S+)"
_FORMS = {
    "GROUP": _NAME,
    "TOPIC": r"([A-Za-z0-9._-]+)",
    "CONSUMER-ID": _NAME,
    "GROUP-INSTANCE-ID": r"(\S[^\t]*?)",
    "HOST": r"(-|\S*/\S*)",
    "CLIENT-ID": r"([^\t]*?)",
    "ASSIGNMENT": r"(\S.*?)",
    "COORDINATOR (ID)": r"(\S*:-?[0-9]+[ \t]+\([^\s()]*\))",
    "ASSIGNMENT-STRATEGY": r"(\S*)",
    **dict.fromkeys(("STATE", "TYPE", "UPGRADED"), r"([A-Za-z]+)"),
    **dict.fromkeys(
        ("PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "#PARTITIONS", "#MEMBERS"), _NUMBER
    ),
    **dict.fromkeys(("CURRENT-EPOCH", "TARGET-EPOCH", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"), _NUMBER),
}
_UUID_LENGTH = 37
_LONGEST = 4096


def kafka_cells(cells: Sequence[str], headings: Sequence[str]) -> Sequence[str] | None:
    """The row's cells, one per heading; None where they cannot be told for certain."""
    text = "\t".join(cells).strip()
    found = _row(tuple(headings)).fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    told = ["" if each is None else " ".join(each.split("\t")) for each in found.groups()]
    values = dict(zip(headings, told, strict=True))
    consumer = values.get("CONSUMER-ID", "")
    if " " in consumer and "GROUP" in values and "TOPIC" not in values:
        # Group and consumer id stand side by side, and names may hold blanks: the id begins with the client's.
        both = f"{values['GROUP']} {consumer}"
        for name in (values.get("GROUP-INSTANCE-ID"), values.get("CLIENT-ID")):
            group = both.removesuffix(f" {name}{consumer[-_UUID_LENGTH:]}")
            if name and group != both:
                told[headings.index("GROUP")], told[headings.index("CONSUMER-ID")] = group, both[len(group) + 1 :]
                return told
        return None
    return told


@lru_cache(maxsize=64)
def _row(headings: tuple[str, ...]) -> re.Pattern[str]:
    parts = []
    for at, heading in enumerate(headings):
        form = _FORMS.get(heading, _WORD)
        gap = r"[ \t]+" if at + 1 < len(headings) else ""
        # Most members have no instance id, and no blanks are left of it.
        parts.append(f"(?:{form}{gap})?" if heading == "GROUP-INSTANCE-ID" else form + gap)
    return re.compile("".join(parts))
