"""What all pictures share: colours that colour-blind people can tell apart, text and shapes as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""The palette of Okabe and Ito; after the last the first comes again."""
LIGHT = frozenset({"#e69f00", "#56b4e9", "#f0e442", "#cc79a7", "#999999"})
"""Those that want dark letters on them."""
INK = "#222222"
FAINT = "#dddddd"
ALARM = "#b00020"
TEXT = 12
"""Height of letters, in pixels; so are all lengths here."""
LETTER = 6.8
"""Width of an average letter."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that Jupyter shows; where it cannot, ``words`` say what there is to see."""

    svg: str
    words: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.words


def colour(at: int) -> str:
    """The colour of the member, topic or line with this number."""
    return COLOURS[at % len(COLOURS)]


def letters_on(background: str) -> str:
    """A colour for letters that can be read on this one."""
    return INK if background in LIGHT else "#ffffff"


def number(value: float) -> str:
    """A length or position, as short as it can be without anybody seeing it."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def width_of(written: str) -> float:
    """Pixels, roughly."""
    return len(written) * LETTER


def text(x: float, y: float, written: str, *, anchor: str = "start", fill: str = INK, weight: str = "normal") -> str:
    """A line of text; ``anchor`` is ``start``, ``middle`` or ``end``."""
    bold = "" if weight == "normal" else f' font-weight="{weight}"'
    return f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}" fill="{fill}"{bold}>{escape(written)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "none", hint: str = "") -> str:
    """A rectangle; ``hint`` is shown when the mouse is over it."""
    title = f"<title>{escape(hint)}</title>" if hint else ""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" fill="{fill}" '
        f'stroke="{stroke}">{title}</rect>'
    )


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = INK, *, dashed: bool = False) -> str:
    """A straight line."""
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{stroke}" '
        f'stroke-width="1"{dashes}/>'
    )


def arrow_head(x: float, y: float, *, rightwards: bool) -> str:
    """The head of an arrow whose point is here."""
    return f'<path d="M{x:.0f},{y:.0f} l{-7 if rightwards else 7},-4 l0,8 z" fill="{INK}"/>'


def legend(names: Sequence[str], x: float, y: float, most: float) -> tuple[list[str], float]:
    """Names with their colours, in as many rows as the width ``most`` asks for; and where the next thing may begin."""
    parts, at = [], x
    for place, name in enumerate(names):
        wide = 20 + width_of(name) + 14
        if at > x and at + wide > x + most:
            at, y = x, y + 18
        parts += [box(at, y - 10, 12, 12, colour(place)), text(at + 18, y, name)]
        at += wide
    return parts, y + 18


def drawing(parts: Sequence[str], width: float, height: float, title: str, words: str) -> Picture:
    """The picture of these parts on white, with title and description for those who cannot see it."""
    size = f"{number(width)} {number(height)}"
    svg = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
            f'viewBox="0 0 {size}" role="img" font-family="sans-serif" font-size="{TEXT}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(words)}</desc>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            text(10, 20, title, weight="bold"),
            *parts,
            "</svg>",
        ]
    )
    return Picture(svg, words)
