"""Sentences that explain every `-` of a table, one per reason however many groups share it."""

from collections.abc import Iterable, Mapping, Sequence

from compare.documents.audit import ToldInPart

MOST_NAMED = 3
"""Groups that a sentence names; the rest is counted."""

MOST_SENTENCES = 20


def missing_figure_sentences(groups: Iterable[ToldInPart], labels: Mapping[str, str]) -> list[str]:
    """What the table with the columns ``labels`` (figure to heading) does not tell of the groups, and why.

    ``groups``: those of the audit's document, of which ``group``, ``partial`` and ``untold`` are read. The reasons of
    the most groups come first; of more than `MOST_SENTENCES` the others are counted in the last one.
    """
    whose: dict[tuple[bool, str], list[str]] = {}
    figures: dict[tuple[bool, str], set[str]] = {}
    for group in groups:
        partial = group.get("partial")
        in_part = partial["why"] if partial else None
        told = [(each["why"], each["figures"]) for each in group.get("untold") or ()]
        if in_part is not None and all(why != in_part for why, _ in told):
            told.insert(0, (in_part, ()))
        for why, missing in told:
            shown = [figure for figure in missing if figure in labels]
            key = (why == in_part, why)
            if shown or key[0]:
                whose.setdefault(key, []).append(str(group.get("group", "")))
                figures.setdefault(key, set()).update(shown)
    ranked = sorted(whose, key=lambda key: -len(whose[key]))
    found = [
        _sentence(key, whose[key], [label for figure, label in labels.items() if figure in figures[key]])
        for key in ranked[:MOST_SENTENCES]
    ]
    rest = ranked[MOST_SENTENCES:]
    if rest:
        names = {name for key in rest for name in whose[key]}
        found.append(
            f"--format json lists {len(rest)} more reasons for missing figures of {_several(len(names), 'group')}."
        )
    return found


def _sentence(key: tuple[bool, str], names: Sequence[str], columns: Sequence[str]) -> str:
    in_part, why = key
    more = len(names) - MOST_NAMED
    who = ", ".join(names[:MOST_NAMED]) + (f" and {_several(more, 'more group')}" if more > 0 else "")
    if not in_part:
        return f"- under {', '.join(columns)} for {who}: {why}."
    dashes = f" (- under {', '.join(columns)})" if columns else ""
    return f"{who} {'is' if len(names) == 1 else 'are'} known only in part{dashes}: {why}."


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
