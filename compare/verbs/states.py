"""The verb `states`."""

import click

from compare.running.systems import MACHINES, Machine, machine
from compare.showing.console import print_json, print_table
from compare.showing.states import mermaid, svg
from compare.verbs.options import HELP_OPTIONS

FORMATS = ("text", "table", "markdown", "json", "mermaid", "svg")


@click.command(context_settings=HELP_OPTIONS)
@click.argument("system", type=click.Choice(tuple(MACHINES)))
@click.option("--format", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--machine", "name", metavar="NAME", help="State machine of the system to draw (default: its main one).")
def states(system: str, format: str, name: str | None) -> int:
    """Show a state machine of SYSTEM: what each state means, and every edge with its event and its guard.

    The output is made from the table that the simulation runs. `text` and `table` are the same; `mermaid` is a state
    diagram for Markdown pages, `svg` an image.
    """
    drawn = machine(system, name)
    if format == "mermaid":
        click.echo(mermaid(drawn))
    elif format == "svg":
        click.echo(svg(drawn))
    elif format == "json":
        print_json(_document(drawn))
    else:
        _print(drawn, "markdown" if format == "markdown" else "table")
    return 0


def _print(drawn: Machine, format: str) -> None:
    meanings = [[drawn.shown(state), text] for state, text in drawn.meanings.items()]
    print_table([("state", "left"), ("what is going on", "left")], meanings, format, f"{drawn.title}: states")
    columns = [(name, "left") for name in ("state", "event", "guard", "next state")]
    rows = [[drawn.shown(edge.before), edge.event, edge.guard, drawn.shown(edge.after)] for edge in drawn.edges]
    print_table(columns, rows, format, f"{drawn.title}: edges")


def _document(drawn: Machine) -> dict[str, object]:
    return {
        "system": drawn.system,
        "machine": drawn.name,
        "states": [
            {"name": state, "older_name": drawn.older_names.get(state), "meaning": drawn.meanings.get(state)}
            for state in drawn.states
        ],
        "edges": [
            {"state": edge.before, "event": edge.event, "guard": edge.guard or None, "next": edge.after}
            for edge in drawn.edges
        ],
    }
