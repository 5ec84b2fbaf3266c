"""The command line: `equipoise VERB ...`.

Verbs are rows of a table and are imported when they are called, so that help is quick and Spark is loaded only where
it works. An error of the user is one line and exit code 2, wherever it is raised; Ctrl-C and SIGTERM are one line,
too, and what was computed before is kept. Everything else is a defect of ours and shows its traceback.
"""

import errno
import os
import sys
from collections.abc import Mapping
from typing import NoReturn

import click

from compare.verbs.options import EXIT_CODE, HELP_OPTIONS, Terminated, hear_sigterm
from protocols import UserError
from protocols.named_modules import module_named

VERBS: Mapping[str, tuple[str, str]] = {
    "audit": ("compare.verbs.audit", "Report how fairly the groups in the output of admin tools share their queues."),
    "compare": ("compare.verbs.compare", "Run a scenario on several systems and compare the results."),
    "conformance": ("compare.verbs.conformance", "Check the models against recordings, or a client against the model."),
    "explore": (
        "compare.verbs.explore",
        "Search everything that can happen in a scenario for a violation of a property.",
    ),
    "examples": ("compare.verbs.examples", "List or copy the example scenarios and captures."),
    "history": ("compare.verbs.history", "Say from snapshots how fair and how restless groups were, on Spark."),
    "logs": ("compare.verbs.logs", "Say from logs of brokers and clients why groups rebalanced."),
    "plan": ("compare.verbs.plan", "Plan the way of a group to another way of sharing, with the cost of each step."),
    "serve": ("compare.verbs.serve", "Let real clients use brokers of Kafka or RocketMQ, and record what they do."),
    "states": ("compare.verbs.states", "Draw the state machines of the systems' models."),
    "sweep": ("compare.verbs.sweep", "Compute a grid of groups, allocations or whole simulations."),
    "watch": ("compare.verbs.watch", "Poll clusters, keep snapshots, tell what changed, and serve Prometheus."),
}
"""Verb to the module that holds its click command under the verb's name, and its line in the help."""


EXTRAS: Mapping[str, str] = {
    **dict.fromkeys(("pandas", "py4j", "pyarrow", "pyspark"), "spark"),
    **dict.fromkeys(("cramjam", "crc32c", "kio"), "serve"),
}
"""Package to the extra that installs it."""
_OF_VERB: Mapping[tuple[str | None, str], str] = dict.fromkeys((("history", "pyarrow"), ("watch", "pyarrow")), "watch")
"""Verb and package to an extra that is enough for the verb."""


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing results fails with where the disk, or what stands for it, takes no more."""


class _ReaderGoneError(Exception):
    """Who read our output has gone away (`| head`)."""


class _LazyVerbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command = getattr(module_named(VERBS[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGoneError from error  # click itself would end with 1, which says that a condition failed
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            extra = _OF_VERB.get((ctx.invoked_subcommand, package), EXTRAS.get(package))
            if extra is None:
                raise
            raise UserError(f"{error.name} is not installed: pip install 'equipoise[{extra}]'") from error
        except Terminated as error:
            raise click.Abort from error  # before click ends a line for it, as for a Ctrl-C on a terminal
        except click.UsageError as error:
            if error.ctx is None and ctx.invoked_subcommand is not None:
                # Of an option without its value click does not say which verb's it is.
                verb = self.get_command(ctx, ctx.invoked_subcommand)
                error.ctx = None if verb is None else click.Context(verb, ctx, ctx.invoked_subcommand)
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, VERBS[verb][1]) for verb in self.list_commands(ctx)])


@click.group(cls=_LazyVerbs, context_settings=HELP_OPTIONS)
@click.version_option(package_name="equipoise", prog_name="equipoise")
def cli() -> None:
    """Measure and compare how Kafka and RocketMQ share the queues of consumer groups.

    Results go to standard output, progress to standard error. Exit codes: 0 success, 1 a requested condition
    failed, 2 bad input, 143 ended by SIGTERM.
    """


def main() -> None:
    """Entry point of the console script."""
    hear_sigterm()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started us: nobody wants to read it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Names may hold any Unicode, lone surrogates too; a console that lacks a character gets an escape.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = cli(prog_name="equipoise", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        verb = error.ctx.command_path if error.ctx else "equipoise"
        message = error.format_message().rstrip()
        _refuse(f"{verb}: {message}{'' if message.endswith(('.', '?')) else '.'} See: {verb} --help")
    except (UserError, click.ClickException) as error:
        _refuse(f"equipoise: {error}")
    except (click.Abort, KeyboardInterrupt) as error:
        cause = error if isinstance(error, KeyboardInterrupt) else error.__cause__
        more = f": {cause}" if str(cause or "") else ""
        if isinstance(cause, Terminated):
            _refuse(f"equipoise: ended by SIGTERM{more}", EXIT_CODE)
        _refuse(f"equipoise: interrupted{more}")
    except (_ReaderGoneError, BrokenPipeError):
        # Nobody is left to be told.
        _write_no_more()
        sys.exit(0)
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_ROOM:
            raise
        _write_no_more()
        _refuse(f"equipoise: standard output: {error.strerror}, expected a place with room for the results")
    sys.exit(code if isinstance(code, int) else 0)


def _write_no_more() -> None:
    """There is no place for what Python would still write when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(line: str, code: int = 2) -> NoReturn:
    click.echo(" ".join(line.split()), err=True)
    sys.exit(code)
