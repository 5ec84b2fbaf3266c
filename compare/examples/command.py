"""The verb `examples`."""

from pathlib import Path

import click

from compare.examples.installed import Example, copy
from compare.examples.installed import examples as installed
from compare.showing.console import FORMATS, HELP_OPTIONS, print_json, print_table
from protocols.errors import UserError
from protocols.scenario.validation import suggestion


@click.command(context_settings=HELP_OPTIONS)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Copy the examples below this folder, which is made if it is not there.",
)
def examples(names: tuple[str, ...], format: str, folder: Path | None) -> int:
    """List the example scenarios and captures that come with the package, or copy them.

    NAME is one of the listed names, or the last part of it; without any, all examples are meant.
    """
    chosen = _chosen(installed(), names)
    if folder is not None:
        count = copy(chosen, folder)
        click.echo(f"{count} files were copied to {folder}.", err=True)
    elif format == "json":
        print_json({"examples": [{"name": each.name, "about": each.about} for each in chosen]})
    else:
        columns = [("example", "left"), ("what it shows", "left")]
        print_table(columns, [[each.name, each.about] for each in chosen], format)
    return 0


def _chosen(there: list[Example], names: tuple[str, ...]) -> list[Example]:
    by_name = {name: each for each in there for name in (each.name.rpartition("/")[2], each.name)}
    for name in names:
        if name not in by_name:
            raise UserError(f"no example {name!r}, {suggestion(name, by_name)}")
    return [by_name[name] for name in dict.fromkeys(names)] if names else there
