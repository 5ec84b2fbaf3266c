"""Adding a verb touches its own folder and the list in `compare/cli.py`: help and documentation follow."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import compare
from compare.cli import VERBS, cli
from tools.pages import commands

COMMAND = '''
import click

from compare.verbs.options import HELP_OPTIONS


@click.command(context_settings=HELP_OPTIONS)
@click.argument("group")
def greet(group: str) -> int:
    """Greet GROUP by its name."""
    click.echo(f"Hello, {group}.")
    return 0
'''
MODULE = "compare.greeting.command"


@pytest.fixture
def _with_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package has one folder more, and the list one verb more."""
    folder = tmp_path / "greeting"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "command.py").write_text(COMMAND)
    monkeypatch.setattr(compare, "__path__", [*compare.__path__, str(tmp_path)])
    assert isinstance(VERBS, dict)
    monkeypatch.setitem(VERBS, "greet", (MODULE, "Greet a group."))
    for module in (MODULE, MODULE.rpartition(".")[0]):
        monkeypatch.delitem(sys.modules, module, raising=False)


@pytest.mark.usefixtures("_with_verb")
def test_a_new_verb_is_listed_before_its_module_is_imported_and_runs_when_it_is_called() -> None:
    listed = CliRunner().invoke(cli, ["--help"])
    assert "greet        Greet a group." in listed.output
    assert MODULE not in sys.modules
    called = CliRunner().invoke(cli, ["greet", "billing"])
    assert called.output == "Hello, billing.\n"
    assert MODULE in sys.modules


@pytest.mark.usefixtures("_with_verb")
def test_the_page_of_commands_shows_a_new_verb() -> None:
    assert "## equipoise greet\n" in commands()
    assert "Greet GROUP by its name." in commands()
