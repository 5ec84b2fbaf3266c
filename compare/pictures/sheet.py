"""A page of text, boxes and lines, which is written as SVG or as PDF; lengths are pixels, from the top left corner."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from typing import NamedTuple

from compare.pictures.svg import INK, number

WIDE = 1123.0
HIGH = 794.0
"""A4, landscape, at 96 pixels per inch."""

POINTS = 0.75
"""Points of PDF per pixel."""

CHINESE_FONT = "STSong-Light"
"""One of the fonts that readers of PDF bring with them; the others of the page are Helvetica."""


class Text(NamedTuple):
    """A line of text whose base line begins at (x, y); ``anchor`` is ``start``, ``middle`` or ``end``."""

    x: float
    y: float
    written: str
    size: float = 9.0
    bold: bool = False
    fill: str = INK
    anchor: str = "start"


class Box(NamedTuple):
    """A rectangle, filled."""

    x: float
    y: float
    width: float
    height: float
    fill: str


class Line(NamedTuple):
    """A straight line; ``arrow``: with a head at its end."""

    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str = INK
    arrow: bool = False


@dataclass(slots=True)
class Sheet:
    """A page; what is added later lies above what was there."""

    title: str
    shapes: list[Text | Box | Line] = field(default_factory=list)

    def add(self, *shapes: Text | Box | Line) -> None:
        """Draw these."""
        self.shapes += shapes

    def svg(self) -> str:
        """The page as text, with a line break at the end."""
        size = f"{number(WIDE)} {number(HIGH)}"
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" '
            'font-family="Helvetica, Arial, Noto Sans CJK SC, sans-serif">',
            f"<title>{escape(self.title)}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *(_svg(shape) for shape in self.shapes),
            "</svg>",
        ]
        return "".join(f"{line}\n" for line in lines)

    def pdf(self) -> bytes:
        """The page as a PDF file of one page; the same bytes for the same page. Needs `reportlab` (extra ``docs``)."""
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.cidfonts import UnicodeCIDFont
        from reportlab.pdfgen.canvas import Canvas

        pdfmetrics.registerFont(UnicodeCIDFont(CHINESE_FONT))
        file = BytesIO()
        canvas = Canvas(file, pagesize=(WIDE * POINTS, HIGH * POINTS), invariant=1)
        canvas.setTitle(self.title)
        canvas.scale(POINTS, POINTS)
        for shape in self.shapes:
            _draw(canvas, shape)
        canvas.save()
        return file.getvalue()


def _svg(shape: Text | Box | Line) -> str:
    if isinstance(shape, Box):
        place = f'x="{number(shape.x)}" y="{number(shape.y)}"'
        return f'<rect {place} width="{number(shape.width)}" height="{number(shape.height)}" fill="{shape.fill}"/>'
    if isinstance(shape, Line):
        ends = f"M{number(shape.x1)},{number(shape.y1)}L{number(shape.x2)},{number(shape.y2)}"
        head = "".join(f"M{number(x)},{number(y)}L{number(shape.x2)},{number(shape.y2)}" for x, y in _head(shape))
        return f'<path d="{ends}{head}" stroke="{shape.stroke}" stroke-width="0.8" fill="none"/>'
    weight = ' font-weight="bold"' if shape.bold else ""
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    place = f'x="{number(shape.x)}" y="{number(shape.y)}" font-size="{number(shape.size)}"'
    return f'<text {place} fill="{shape.fill}"{weight}{anchor}>{escape(shape.written)}</text>'


def _head(line: Line) -> Sequence[tuple[float, float]]:
    """Where the two strokes of a horizontal arrow's head begin."""
    if not line.arrow:
        return ()
    back = 5.0 if line.x2 < line.x1 else -5.0
    return (line.x2 + back, line.y2 - 3), (line.x2 + back, line.y2 + 3)


def _draw(canvas, shape: Text | Box | Line) -> None:  # type: ignore[no-untyped-def]  # reportlab has no types
    from reportlab.lib.colors import HexColor

    if isinstance(shape, Box):
        canvas.setFillColor(HexColor(shape.fill))
        canvas.rect(shape.x, HIGH - shape.y - shape.height, shape.width, shape.height, stroke=0, fill=1)
    elif isinstance(shape, Line):
        canvas.setStrokeColor(HexColor(shape.stroke))
        canvas.setLineWidth(0.8)
        canvas.line(shape.x1, HIGH - shape.y1, shape.x2, HIGH - shape.y2)
        for x, y in _head(shape):
            canvas.line(x, HIGH - y, shape.x2, HIGH - shape.y2)
    else:
        canvas.setFillColor(HexColor(shape.fill))
        chinese = not shape.written.isascii()
        canvas.setFont(CHINESE_FONT if chinese else "Helvetica-Bold" if shape.bold else "Helvetica", shape.size)
        write = {"start": canvas.drawString, "middle": canvas.drawCentredString, "end": canvas.drawRightString}
        write[shape.anchor](shape.x, HIGH - shape.y, shape.written)


def width_of(written: str, size: float = 9.0) -> float:
    """How wide a line of text is, roughly: a Chinese character is as wide as high."""
    return sum(size if ord(letter) > 0x2E80 else size * 0.5 for letter in written)


def wrapped(written: str, width: float, size: float = 9.0) -> list[str]:
    """The text in lines of at most this width; it breaks at spaces, and between Chinese characters."""
    lines: list[str] = [""]
    for word in _words(written):
        if lines[-1] and width_of(lines[-1] + word.rstrip(), size) > width:
            lines.append("")
        lines[-1] += word.lstrip() if not lines[-1] else word
    return [line.rstrip() for line in lines]


def _words(written: str) -> Iterable[str]:
    """Parts between which a line may break, each with the spaces behind it."""
    word = ""
    for at, letter in enumerate(written):
        word += letter
        following = written[at + 1 : at + 2]
        if (letter == " " and following != " ") or (ord(letter) > 0x2E80 and following not in "，。；：）、"):
            yield word
            word = ""
    if word:
        yield word
