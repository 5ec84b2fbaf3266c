"""What the playground asks of the engine, in the browser or anywhere else: text in, pages out.

An answer is a mapping with ``page`` (a report as HTML), ``told`` (a line about it) or ``error`` (a line about the
input). Nothing is read or written but what the caller gives.
"""

import ast
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from pathlib import Path

MOST_VARIANTS = 12
"""Variants that one run may have: all of them are held until the last one is done."""


def compare(text: str, systems: str = "") -> Iterator[dict[str, str]]:
    """The report of a scenario (YAML): first of its first variant alone, then of all.

    ``systems``: names or labels, with commas; where it is empty, those of the scenario.
    """
    from compare.explaining.document import document
    from compare.running.limits import Machine, check_work
    from compare.running.runs import Plan, SeedChoice, run_all
    from compare.running.systems import read_text
    from compare.showing.comparison.page import write_comparison
    from protocols.errors import UserError

    try:
        scenario = read_text(text)
        asked = tuple(name.strip() for name in systems.split(",") if name.strip())
        plan = Plan.of("scenario", scenario, asked, SeedChoice((), None, None), False)
        orders = list(plan.orders(0, True, True))
        variants = len(plan.variants)
        if variants > MOST_VARIANTS:
            raise UserError(f"{variants} variants, expected at most {MOST_VARIANTS} here: name some of them")
        check_work([plan], Machine(1, LARGEST_MEMORY))
        runs = []
        for run in run_all(orders, lambda _: None, processes=1):
            runs.append(run)
            if len(runs) in (1, variants, len(orders)):
                page = write_comparison([(scenario, runs, document(scenario, runs, beside=len(runs) > variants))])
                yield {"page": page, "told": f"{scenario.name}: {len(runs)} of {len(orders)} runs"}
    except UserError as error:
        yield {"error": str(error)}


LARGEST_MEMORY = 2 << 30
"""Bytes that Python in a browser may have."""


def audit(text: str) -> Iterator[dict[str, str]]:
    """The report of an audit of what admin tools printed."""
    from compare.auditing.group_figures import judge
    from compare.explaining.audited import document
    from compare.explaining.diagnosis import explain_all
    from compare.reading.gather import gather
    from compare.showing.audit.page import write_report
    from compare.showing.audit.tables import skipped_line
    from protocols.errors import UserError

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pasted.txt"
        path.write_text(text, encoding="utf-8")
        try:
            gathered = gather([str(path)])
        except UserError as error:
            yield {"error": str(error).replace(f"{folder}/", "")}
            return
        if not gathered.was_read:
            why = "; ".join(skipped_line(each) for each in gathered.skipped[:3])
            yield {"error": why.replace(f"{folder}/", "")}
            return
        explained = explain_all(judge(gathered.groups, engine="local"))
        page = write_report({**document(explained, gathered.skipped, pictures=True), "weight": None})
    count = len(explained)
    yield {"page": page.replace(f"{folder}/", ""), "told": f"{count} group{'' if count == 1 else 's'}"}


_names: dict[str, object] = {"__name__": "__main__"}
"""What the cells of a notebook have defined."""


def cell(source: str) -> Iterator[dict[str, str]]:
    """Run a cell of a notebook, as Jupyter does: what it prints, and what its last expression shows, as HTML."""
    shown: list[str] = []
    printed = StringIO()

    def flush() -> None:
        if text := printed.getvalue().rstrip("\n"):
            shown.append(f"<pre>{escape(text, quote=False)}</pre>")
        printed.seek(0)
        printed.truncate()

    def show(value: object) -> None:
        if value is not None:
            flush()
            shown.append(_html(value))

    hook, sys.displayhook = sys.displayhook, show
    try:
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(printed):
            exec(compile(tree, "cell", "exec"), _names)
            if isinstance(last, ast.Expr):
                show(eval(compile(ast.Expression(last.value), "cell", "eval"), _names))
    except Exception as error:
        printed.write(f"{type(error).__name__}: {error}\n")
    finally:
        sys.displayhook = hook
    flush()
    yield {"page": "\n".join(shown), "told": ""}


def _html(value: object) -> str:
    """The richest form that a value has."""
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    if hasattr(value, "_repr_svg_"):
        return f'<div class="picture">{value._repr_svg_()}</div>'
    return f"<pre>{escape(repr(value), quote=False)}</pre>"
