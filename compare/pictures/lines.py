"""Figures over time: a line for each."""

from collections.abc import Mapping, Sequence

from compare.pictures.svg import FAINT, Picture, colour, drawing, legend, line, number, text

_WIDTH, _HIGH, _LEFT = 780.0, 180.0, 60.0


def lines(series: Mapping[str, Sequence[tuple[float, float]]], title: str, unit: str = "s") -> Picture:
    """``series``: a name to its points (x ascending); ``unit`` stands behind the numbers of the x-axis."""
    points = [point for each in series.values() for point in each]
    begin, end = min(x for x, _ in points), max(x for x, _ in points)
    most = max(max(y for _, y in points), 1e-9)
    parts, top = legend(list(series), 10, 42, _WIDTH - 20)
    floor = top + _HIGH

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x, y = point
        return _LEFT + (x - begin) / (end - begin) * (_WIDTH - _LEFT - 20), floor - y / most * (_HIGH - 10)

    for share in (0, 0.5, 1):
        _, y = place((begin, most * share))
        parts += [line(_LEFT, y, _WIDTH - 20, y, FAINT), text(_LEFT - 8, y + 4, number(most * share), anchor="end")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        at = begin + (end - begin) * share
        parts.append(text(place((at, 0))[0], floor + 16, f"{number(at)}{unit}", anchor="middle"))
    for at, each in enumerate(series.values()):
        path = " ".join(",".join(map(number, place(point))) for point in each)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(at)}" stroke-width="2"/>')
    words = [title] + [
        f"{name}: from {number(each[0][1])} to {number(each[-1][1])}, at most {number(max(y for _, y in each))}"
        for name, each in series.items()
    ]
    return drawing(parts, _WIDTH, floor + 30, title, "\n".join(words))
