"""The examples beside the package: what there is, and how it is copied.

The verb `examples`.
"""

import os.path
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from compare.showing.console import print_json, print_table
from compare.verbs.options import FORMATS, HELP_OPTIONS
from protocols.errors import UserError
from protocols.scenario.validation import suggestion

PACKAGE = "equipoise_examples"
"""The folder `examples` of the sources, as it is installed (setup.py)."""

NOT_EXAMPLES = frozenset({"__init__.py", "__pycache__", ".pytest_cache"})

FOLDERS = {
    "atlas": "grids for `sweep`: where which strategy loses, what a join, a crash, a deploy costs",
    "captures/kafka": "what Kafka's admin tools print about groups of a real cluster",
    "captures/rocketmq": "what mqadmin prints about groups of a real cluster, a folder for each",
    "classic-bugs": "eight bugs that consumers have, their mended versions, and the tests that find them",
    "recordings": "what the real systems answered, for `conformance`: vectors, traces, rebalances of real clusters",
    "real-clients": "two real consumers, tested before brokers on sockets",
    "consumer-project": "a small project that tests a consumer with the pytest plugin",
}
"""Examples that are folders, and what is in them."""

EXPLORED = "explore"
"""Scenarios for `explore`; those of `SCENARIOS` are for `compare`."""
SCENARIOS = "scenarios"
EXPECTED = "expected"


@dataclass(frozen=True, slots=True)
class Example:
    """``name``: its path without the ending of a scenario; ``about``: in a few words; ``paths``: its files."""

    name: str
    about: str
    paths: tuple[str, ...]


def installed_examples() -> list[Example]:
    """All of them: folders first, then scenarios, by name."""
    root = files(PACKAGE)
    paths = sorted(_walk(root, ""))
    folders = [
        Example(name, about, tuple(each for each in paths if each.startswith(f"{name}/")))
        for name, about in FOLDERS.items()
    ]
    scenarios = []
    for path in paths:
        folder, _, file = path.rpartition("/")
        if folder in (EXPLORED, SCENARIOS) and file.endswith(".yaml"):
            stem = file.removesuffix(".yaml")
            expected = f"{folder}/{EXPECTED}/{stem}.md"
            with_results = (path, *(each for each in (expected,) if each in paths))
            scenarios.append(Example(f"{folder}/{stem}", _title(root, path), with_results))
    return [*folders, *scenarios]


def copy(chosen: list[Example], folder: Path) -> int:
    """Copy their files below the folder; how many. Raises `UserError` where a file of another content is there."""
    root = files(PACKAGE)
    contents = {folder / path: _at(root, path).read_bytes() for example in chosen for path in example.paths}
    for target, content in contents.items():
        if os.path.lexists(target) and (not os.path.isfile(target) or target.read_bytes() != content):
            raise UserError(f"--to {folder}: {target} is there already and differs, expected another folder")
    try:
        for target, content in contents.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise UserError(f"--to {folder}: {error.strerror}, expected a folder that can be written") from None
    return len(contents)


def _walk(folder: Traversable, inside: str) -> Iterator[str]:
    for file in folder.iterdir():
        if file.name in NOT_EXAMPLES:
            continue
        path = f"{inside}{file.name}"
        if file.is_dir():
            yield from _walk(file, f"{path}/")
        else:
            yield path


def _at(root: Traversable, path: str) -> Traversable:
    for name in path.split("/"):
        root = root / name
    return root


def _title(root: Traversable, path: str) -> str:
    """The scenario's name, which its first line holds."""
    first, _, _ = _at(root, path).read_text(encoding="utf-8").partition("\n")
    return first.removeprefix("name:").strip().strip("'\"")


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
    chosen = _chosen(installed_examples(), names)
    if folder is not None:
        count = copy(chosen, folder)
        click.echo(f"{count} files were copied to {folder}.", err=True)
    elif format == "json":
        print_json({"examples": [{"name": example.name, "about": example.about} for example in chosen]})
    else:
        columns = [("example", "left"), ("what it shows", "left")]
        print_table(columns, [[example.name, example.about] for example in chosen], format)
    return 0


def _chosen(there: list[Example], names: tuple[str, ...]) -> list[Example]:
    by_name = {name: example for example in there for name in (example.name.rpartition("/")[2], example.name)}
    for name in names:
        if name not in by_name:
            raise UserError(f"no example {name!r}, {suggestion(name, by_name)}")
    return [by_name[name] for name in dict.fromkeys(names)] if names else there
