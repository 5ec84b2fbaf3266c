"""What was judged, for people and for programs."""

from dataclasses import asdict

from compare.conformance.clients.judging import MODEL, Judgement, Verdict
from compare.conformance.clients.outcome import BY_LINES
from compare.showing.console import print_json, print_line, print_table

_LEFT, _RIGHT = "left", "right"


def print_verdict(verdict: Verdict, format: str) -> None:
    """On standard output, in one of `compare.showing.console.FORMATS`."""
    if format == "json":
        print_json(document(verdict))
        return
    names = {"situation": _LEFT, "the client": _LEFT, verdict.system.java: _LEFT}
    columns = [*names.items(), ("lost", _RIGHT), ("twice", _RIGHT), ("verdict", _LEFT)]
    print_table(columns, [_row(judgement) for judgement in verdict.judgements], format)
    for line in _notes(verdict):
        print_line(line, format)


def document(verdict: Verdict) -> dict[str, object]:
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


def _row(each: Judgement) -> list[str]:
    java = "the same" if each.same else "; ".join(each.java)
    verdict = (
        f"FAILED: {each.failure}" if each.failure else "as Java" if each.same else "differs" if each.tried else "-"
    )
    return [each.situation, "; ".join(each.did), java, str(each.records.lost), str(each.records.twice), verdict]


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
