"""The audit's example in README.md, made of what the program prints: the first rows, and some of the sentences."""

from contextlib import redirect_stdout
from io import StringIO
from itertools import takewhile
from pathlib import Path
from textwrap import wrap

from compare.auditing.group_figures import judge
from compare.explaining.diagnosis import explain_all
from compare.reading.gather import gather
from compare.showing.audit.tables import print_audit

COMMAND = "$ equipoise audit examples/captures\n"
ROWS = 12
WIDTH = 140
UNTOLD = ("same_ip_3 is known only in part", "- under strategy for dup_client_id")
CAUSES = ("dup_client_id:", "svc.cart-consumer-group-03:", "svc_shipping-v2-09:")
"""How the sentences begin that are shown."""


def with_example(text: str, root: Path) -> str:
    """The page with the example as the program prints it now. `ValueError` where the page has none."""
    start = text.index(COMMAND) + len(COMMAND)
    return text[:start] + _shown(_printed(root)) + text[text.index("```", start) :]


def _printed(root: Path) -> list[str]:
    gathered = gather([str(root / "examples" / "captures")])
    written = StringIO()
    with redirect_stdout(written):
        print_audit(explain_all(judge(gathered.groups)), "table")
    return written.getvalue().splitlines()


def _shown(lines: list[str]) -> str:
    head = list(takewhile(str.strip, lines))
    rows = lines[len(head) + 1 : len(head) + 3 + ROWS]
    shown = [*_wrapped(head), "", *rows, " ...", ""]
    for begins in (UNTOLD, CAUSES):
        shown += [line for begin in begins for line in _wrapped([_line(lines, begin)])]
        shown.append("...")
    return "".join(f"{line}\n" for line in shown)


def _line(lines: list[str], beginning: str) -> str:
    found = next((line for line in lines if line.startswith(beginning)), None)
    if found is None:
        raise LookupError(f"the audit of examples/captures prints no line that begins with {beginning!r}")
    return found


def _wrapped(lines: list[str]) -> list[str]:
    return [part for line in lines for part in wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)]
