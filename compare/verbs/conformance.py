"""The verb `conformance`."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path

import click

from compare.conformance.cases import Difference, FileResult
from compare.conformance.players import play_files
from compare.formatting import visible
from compare.judging.judging import MODEL, Judgement, Verdict, judge
from compare.judging.playing import BY_LINES
from compare.showing.console import print_json, print_line, print_table
from compare.verbs.options import FORMATS, HELP_OPTIONS
from protocols.errors import UserError

ENDINGS = (".jsonl", ".jsonl.gz", ".json")
"""Files of these kinds are played where a folder is given."""

MOST_DIFFERENCES = 5
"""Differences shown per file unless --verbose; JSON lists all."""

MOST_CHARACTERS = 160
"""Length of a value in a difference unless --verbose."""

MOST_IN_TABLE = 48
"""Length of a value in a table of what was measured; JSON has all of it."""

OF_SERVE = frozenset({"kio", "crc32c", "grpc"})
"""Packages that only the extra `serve` installs."""

OF_ROCKETMQ, OF_GRPC = "{namesrv}", "{endpoints}"
"""Fields in whose place a client of RocketMQ is given its name server, or, one of the 5.x line, its proxy."""


@click.command(context_settings=HELP_OPTIONS)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--client", metavar="COMMAND", help="Judge this program: 'COMMAND {bootstrap} {topic} {group}'.")
@click.option(
    "--situation", multiple=True, metavar="NAME", help="With --client: only situations with this in the name."
)
@click.option(
    "--at-once",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="With --client: situations side by side.",
)
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--verbose", is_flag=True, help="Show all differences and measurements, with full values.")
def conformance(
    paths: tuple[str, ...], client: str | None, situation: tuple[str, ...], at_once: int, format: str, verbose: bool
) -> int:
    """Check the models against recordings of the real systems, or a client against the model.

    PATH is a file of golden vectors (.jsonl, .jsonl.gz) or recorded traces, or a folder with such files. Cases of a
    kind without a player count as skipped. Exit code 1 if a case failed or no case was checked, 2 if a file could not
    be read.

    With --client the program is started a few times on brokers in this process and taken through rebalances, errors,
    lost connections and the like; the table says what it did, what the system's own Java client does, and how many
    records were lost or handled twice. It may print a line "topic partition offset" for each record that it has
    handled. With {namesrv} in the place of {bootstrap} it is a client of RocketMQ, with {endpoints} one of its 5.x
    line, and prints bodies. What failed, or
    differs on a busy machine, is tried once more. Exit code 1 if it lost records, or twice ended or stopped reading
    where the Java client goes on; 2 if it cannot be started or joins no group.
    """
    if client is not None:
        return _judged(client, paths, situation, at_once, format)
    if not paths:
        raise UserError(
            "nothing to check: expected PATH... (recordings) or --client 'COMMAND {bootstrap} {topic} {group}'"
        )
    files = _files(paths)
    results: list[FileResult] = []
    unreadable: list[str] = []
    with _progress(files) as consumed, closing(play_files(files, consumed)) as all_played:
        for played in all_played:
            if isinstance(played, UserError):
                unreadable.append(str(played))
            else:
                results.append(played)
    if format == "json":
        print_json(_document(results, unreadable))
    elif format == "markdown":
        _print_markdown(results, verbose)
    else:
        _print_lines(results, verbose)
    for why in unreadable:
        click.echo(visible(f"equipoise: {why}"), err=True)
    if unreadable:
        return 2
    if not any(result.passed or result.failed for result in results):
        given = ", ".join(paths)
        expected = f"golden vectors or recorded traces ({', '.join(ENDINGS)})"
        click.echo(visible(f"equipoise: no case was checked: {given} holds none, expected {expected}"), err=True)
        return 1
    return 1 if any(result.failed for result in results) else 0


def _judged(client: str, paths: Sequence[str], situations: Sequence[str], at_once: int, format: str) -> int:
    """The verb with --client; what it needs of sockets and codecs is imported only here."""
    if paths:
        raise UserError(f"{paths[0]}: recordings and --client do not go together, expected one of them")
    try:
        if OF_ROCKETMQ in client:
            from compare.judging.rocketmq import ROCKETMQ as SYSTEM
        elif OF_GRPC in client:
            from compare.judging.rocketmq_grpc import GRPC as SYSTEM
        else:
            from compare.judging.kafka import KAFKA as SYSTEM
    except ModuleNotFoundError as error:
        if error.name not in OF_SERVE:
            raise
        raise UserError(f"--client needs {error.name}, expected: pip install 'equipoise[serve]'") from None
    verdict = judge(SYSTEM, client, situations, at_once)
    _print_verdict(verdict, format)
    return 1 if verdict.failed else 0


def _files(paths: Sequence[str]) -> list[Path]:
    """The files to play, those of a folder sorted by path, each once."""
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if os.path.isdir(path):
            inside = [Path(folder) / name for folder, _, names in os.walk(path, onerror=_refuse) for name in names]
            found.update(dict.fromkeys(sorted(each for each in inside if each.name.endswith(ENDINGS) and _ends(each))))
        elif os.path.exists(path):
            found[path] = None
        else:
            raise UserError(f"{path}: no such file or folder, expected golden vectors ({', '.join(ENDINGS)})")
    return list(found)


def _ends(path: Path) -> bool:
    """A pipe or a device that lies in a folder may have no end, or nobody who writes; whoever means one names it."""
    return path.is_file() or not path.exists()


def _refuse(error: OSError) -> None:
    raise UserError(f"{error.filename}: cannot be read: {error.strerror}")


@contextmanager
def _progress(files: Sequence[Path]) -> Iterator[Callable[[Path], Callable[[int], None]]]:
    """A bar over the bytes of all files, where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda path: lambda position: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    sizes = {path: path.stat().st_size for path in files}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=sum(sizes.values()))
        before = dict(zip(files, accumulate(sizes.values(), initial=0), strict=False))

        def of_file(path: Path) -> Callable[[int], None]:
            progress.update(task, description=escape(visible(path.name)))
            return lambda position: progress.update(task, completed=before[path] + position)

        yield of_file


def _print_lines(results: Sequence[FileResult], verbose: bool) -> None:
    for result in results:
        print_line(str(result))
        for note in result.notes:
            print_line(f"  {note}")
        for difference in _shown(result, verbose):
            expected, got = (_value(each, verbose) for each in (difference.expected, difference.got))
            print_line(f"  {difference.case} {difference.field}: expected {expected}, got {got}")
        if more := len(result.differences) - len(_shown(result, verbose)):
            print_line(f"  ... and {more} more differences (--verbose shows all)")
        if verbose:
            _print_measures(result, "table")
    if len(results) > 1:
        print_line(str(_total(results)))


def _print_markdown(results: Sequence[FileResult], verbose: bool) -> None:
    counts = [*results, _total(results)] if len(results) > 1 else results
    print_table(
        [("file", "left"), ("passed", "right"), ("failed", "right"), ("skipped", "right"), ("notes", "left")],
        [
            [count.name, str(count.passed), str(count.failed), str(count.skipped), "; ".join(count.notes)]
            for count in counts
        ],
        "markdown",
    )
    rows = [
        [result.name, each.case, each.field, _value(each.expected, verbose), _value(each.got, verbose)]
        for result in results
        for each in _shown(result, verbose)
    ]
    if rows:
        columns = ("file", "case", "field", "expected", "got")
        print_table([(column, "left") for column in columns], rows, "markdown", "Differences")
    for result in results if verbose else ():
        _print_measures(result, "markdown")


def _print_measures(result: FileResult, format: str) -> None:
    """Recorded values beside the model's, a table per case."""
    columns = [("quantity", "left"), ("real", "right"), ("model", "right"), ("allowed", "right"), ("passed", "left")]
    for case in dict.fromkeys(measure.case for measure in result.measures):
        rows = [
            [
                measure.quantity,
                _measured(measure.real),
                "the same"
                if isinstance(measure.real, list) and measure.model == measure.real
                else _measured(measure.model),
                _measured(measure.allowed),
                "yes" if measure.passed else "NO",
            ]
            for measure in result.measures
            if measure.case == case
        ]
        print_table(columns, rows, format, case)


def _measured(value: object) -> str:
    """A number, a range (a pair of numbers), or anything else, cut: differences show it in full."""
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, list) and len(value) == 2 and all(isinstance(each, float) for each in value):
        return f"{value[0]:.1f} .. {value[1]:.1f}"
    text = _value(value, verbose=True)
    return text if len(text) <= MOST_IN_TABLE else text[: MOST_IN_TABLE - 3] + "..."


def _document(results: Sequence[FileResult], unreadable: Sequence[str]) -> dict[str, object]:
    total = _total(results)
    return {
        "files": [asdict(result) for result in results],
        "unreadable": list(unreadable),
        "passed": total.passed,
        "failed": total.failed,
        "skipped": total.skipped,
    }


def _total(results: Sequence[FileResult]) -> FileResult:
    return FileResult(
        f"{len(results)} files",
        sum(result.passed for result in results),
        sum(result.failed for result in results),
        sum(result.skipped for result in results),
    )


def _shown(result: FileResult, verbose: bool) -> Sequence[Difference]:
    return result.differences if verbose else result.differences[:MOST_DIFFERENCES]


def _value(value: object, verbose: bool) -> str:
    text = "nothing" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if verbose or len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


_LEFT, _RIGHT = "left", "right"


def _print_verdict(verdict: Verdict, format: str) -> None:
    """On standard output, in one of `compare.verbs.options.FORMATS`."""
    if format == "json":
        print_json(_verdict_document(verdict))
        return
    names = {"situation": _LEFT, "the client": _LEFT, verdict.system.java: _LEFT}
    columns = [*names.items(), ("lost", _RIGHT), ("twice", _RIGHT), ("verdict", _LEFT)]
    print_table(columns, [_judged_row(judgement) for judgement in verdict.judgements], format)
    for line in _notes(verdict):
        print_line(line, format)


def _verdict_document(verdict: Verdict) -> dict[str, object]:
    """The verdict as JSON: `docs/clients.md` describes the fields."""
    return {
        "client": verdict.client,
        "protocol": verdict.protocol,
        "situations": [
            {
                "name": judgement.situation,
                "client": list(judgement.did),
                "java": list(judgement.java),
                "java_from": judgement.java_from,
                "tried": judgement.tried,
                "same": judgement.same,
                "failure": judgement.failure,
                "failed_once": judgement.failed_once,
                "tries": judgement.tries,
                "behind": judgement.behind,
                "busy": judgement.busy or None,
                "verdict": judgement.verdict(),
                "exit_code": judgement.exit_code,
                "last_line": judgement.last_line,
                "records": asdict(judgement.records),
            }
            for judgement in verdict.judgements
        ],
        "same": sum(judgement.same for judgement in verdict.judgements),
        "failed": sum(judgement.failure is not None for judgement in verdict.judgements),
        "lost": sum(judgement.records.lost for judgement in verdict.judgements),
        "twice": sum(judgement.records.twice for judgement in verdict.judgements),
    }


def _judged_row(each: Judgement) -> list[str]:
    java = "the same" if each.same else "; ".join(each.java)
    return [each.situation, "; ".join(each.did), java, str(each.records.lost), str(each.records.twice), each.verdict()]


def _notes(verdict: Verdict) -> list[str]:
    every = verdict.judgements
    exact = sum(each.records.judged_by == BY_LINES for each in every)
    same, failed = sum(each.same for each in every), sum(each.failure is not None for each in every)
    notes = [f"{verdict.protocol} {verdict.system.kind}: {len(every)} situations, {same} as Java, {failed} failed"]
    if exact < len(every):
        notes.append(
            f"records judged by fetches and commits in {len(every) - exact} situations: the program printed no line"
            " 'topic partition offset' there, and a record counts as handled when it was fetched"
        )
    notes += [f"{each.situation}: {each.java_from}" for each in every if each.java_from != MODEL]
    return notes
