"""`python -m tools.atlas`: run both sweeps of the atlas (or go on with them, in ``build/atlas``) and write its data
files. `python -m tools.pages` makes the page and the pictures of these."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from compare.atlas import tables
from compare.cli import cli
from compare.sweeping.reading import read
from tools.atlas import making

ROOT = Path(__file__).parents[2]
GRIDS = ROOT / "examples" / "atlas"
ROWS = ROOT / "build" / "atlas"
DATA = ROOT / "compare" / "atlas"


def main() -> None:
    """Sweep, and write what has changed."""
    made = {
        tables.ALLOCATIONS: making.allocations_of(read(_grid("allocations")).sweep, _swept("allocations")).as_json(),
        tables.EVENTS: making.events_of(read(_grid("events")).sweep, _swept("events")).as_json(),
    }
    for name, content in made.items():
        path = DATA / name
        text = written(content)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            click.echo(f"{path.relative_to(ROOT)} is new", err=True)


def written(content: Mapping[str, Any]) -> str:
    """JSON with a line for each entry of its list of tables, so that a change can be read."""
    lines = []
    for name, value in content.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = ",\n".join(f"  {json.dumps(each, separators=(',', ':'))}" for each in value)
            lines.append(f" {json.dumps(name)}: [\n{entries}\n ]")
        else:
            lines.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _grid(name: str) -> Path:
    return GRIDS / f"{name}.yaml"


def _swept(name: str) -> Path:
    folder = ROWS / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    cli.main(["sweep", str(_grid(name)), "--out", str(folder)], standalone_mode=False)
    return folder


main()
