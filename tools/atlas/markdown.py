"""Parts of a page in Markdown."""

from collections.abc import Iterable, Sequence


def picture(name: str, words: str) -> str:
    """A picture of the page."""
    return f"![{words}](atlas/{name}.svg)\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"
