"""`python -m tools.atlas`: run both sweeps of the atlas (or go on with them, in ``build/atlas``) and write its data.
`python -m tools.pages` makes the page and the pictures of it."""

from pathlib import Path

import click

from compare.cli import cli
from compare.sweeping.reading import read
from tools.atlas import making, tables

ROOT = Path(__file__).parents[2]
GRIDS = ROOT / "examples" / "atlas"
ROWS = ROOT / "build" / "atlas"


def main() -> None:
    """Sweep, and write what has changed."""
    made = {
        tables.ALLOCATIONS: making.allocations_of(read(_grid("allocations")).sweep, _swept("allocations")).as_json(),
        tables.EVENTS: making.events_of(read(_grid("events")).sweep, _swept("events")).as_json(),
    }
    if made != tables.data():
        tables.write(made)
        click.echo(f"{tables.DATA.relative_to(ROOT)} is new", err=True)


def _grid(name: str) -> Path:
    return GRIDS / f"{name}.yaml"


def _swept(name: str) -> Path:
    folder = ROWS / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    cli.main(["sweep", str(_grid(name)), "--out", str(folder)], standalone_mode=False)
    return folder


main()
