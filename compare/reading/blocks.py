"""Cut a source into blocks: the output of one view of one tool, from its header line to the next one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from compare.reading.observed import Skipped, System


@dataclass(frozen=True, slots=True)
class Command:
    """The command line of a tool that stands before its output in a pasted text, and what its options name."""

    tool: str
    group: str | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source's text. ``name`` is what messages call it; ``given_group`` comes from ``NAME=FILE``.

    ``folder`` and ``stem`` are the names of its folder and of the file without endings ("" for standard input):
    one of them stands in where the text does not name the group.
    Of pasted text, ``lines`` are what is left of it without its decoration: ``numbers`` are then their places (from 1)
    in the file, and ``command`` is the command line above them.
    """

    name: str
    lines: tuple[str, ...]
    given_group: str | None = None
    folder: str = ""
    stem: str = ""
    numbers: tuple[int, ...] | None = None
    command: Command | None = None

    @property
    def told_group(self) -> str | None:
        """The group that the command line names, else the one of ``NAME=FILE``: the command is nearer to its output."""
        return (self.command and self.command.group) or self.given_group


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of one view; ``lines[0]`` is the header, which is the ``first`` one (from 1) of its source's lines."""

    source: SourceText
    first: int
    lines: tuple[str, ...]

    def number(self, offset: int) -> int:
        """Where the line ``offset`` lines below the header stands in the file, from 1."""
        at = self.first + offset
        return at if self.source.numbers is None else self.source.numbers[at - 1]


@dataclass(frozen=True, slots=True)
class BlockKind:
    """A view that a reader knows. ``starts`` recognises its first line (the header, not the file name).

    ``parse`` yields the reader's own facts, and `Skipped` for lines that it cannot read. ``aside``: its lines may
    stand in the middle of the system's other views, whose blocks go on.
    """

    system: System
    name: str
    starts: Callable[[str], bool]
    parse: Callable[[Block], Iterable[object]]
    aside: bool = False


def split(source: SourceText, kinds: Sequence[BlockKind]) -> Iterator[tuple[BlockKind | None, Block]]:
    """The blocks of a source in order; kind None for non-blank text that precedes every known header."""
    kind: BlockKind | None = None
    start = 0
    for position, line in enumerate(source.lines):
        found = next((each for each in kinds if each.starts(line)), None)
        if found is not None and not (found.aside and kind is not None and kind.system == found.system):
            yield from _block(kind, source, start, position)
            kind, start = found, position
    yield from _block(kind, source, start, len(source.lines))


def _block(
    kind: BlockKind | None, source: SourceText, start: int, end: int
) -> Iterator[tuple[BlockKind | None, Block]]:
    lines = source.lines[start:end]
    if kind is None:
        blank = next((n for n, line in enumerate(lines) if line.strip()), None)
        if blank is None:
            return
        start, lines = start + blank, lines[blank:]
    yield kind, Block(source, start + 1, lines)


def skipped(block: Block, offset: int, why: str) -> Skipped:
    """`Skipped` for the line ``offset`` lines below the block's header."""
    return Skipped(block.source.name, block.number(offset), why)
