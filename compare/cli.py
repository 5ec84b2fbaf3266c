"""The command line: `equipoise VERB ...`. Verbs are imported when they are called, so that help is quick."""

import importlib
import os
import sys
from collections.abc import Mapping
from typing import NoReturn

import click

from compare.output import HELP_OPTIONS
from protocols import UserError

VERBS: Mapping[str, tuple[str, str]] = {
    "audit": ("compare.audit.command", "Read what admin tools print and say which groups are unfair."),
    "compare": ("compare.scenarios.command", "Let systems live through the same scenario and say how each fared."),
    "conformance": ("compare.conformance.command", "Play recorded answers of the real systems against the model."),
    "states": ("compare.states.command", "Draw the state machines from which the systems' models run."),
}
"""Verb to the module that holds its click command under the verb's name, and its line in the help."""


class _ReaderGoneError(Exception):
    """Who read our output has gone away (`| head`)."""


class _LazyVerbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command = getattr(importlib.import_module(VERBS[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGoneError from error  # click itself would end with 1, which says that a condition failed

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, VERBS[verb][1]) for verb in self.list_commands(ctx)])


@click.group(cls=_LazyVerbs, context_settings=HELP_OPTIONS)
@click.version_option(package_name="equipoise", prog_name="equipoise")
def cli() -> None:
    """How Kafka and RocketMQ share the queues of a consumer group: read, judged, compared.

    Results go to standard output, progress to standard error. Exit codes: 0 success, 1 a condition of yours
    failed, 2 bad input.
    """


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        # Names may hold any Unicode, lone surrogates too; a console that lacks a character gets an escape.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = cli(prog_name="equipoise", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        verb = error.ctx.command_path if error.ctx else "equipoise"
        _refuse(f"{verb}: {error.format_message()} See: {verb} --help")
    except (UserError, click.ClickException) as error:
        _refuse(f"equipoise: {error}")
    except click.Abort:
        _refuse("equipoise: interrupted")
    except (_ReaderGoneError, BrokenPipeError):
        # Nobody is left to be told, nor is there a place for what Python would still write when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _refuse(line: str) -> NoReturn:
    click.echo(" ".join(line.split()), err=True)
    sys.exit(2)
