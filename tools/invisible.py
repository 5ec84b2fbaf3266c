"""docs/lessons/invisible-time.svg: for how long one record is hidden from all others when its member freezes.

The run is that of the freeze in `tools.four_events`. A row is an attempt, from when the record was handed out until it
could be handed out again or had been handled.
"""

from collections.abc import Sequence

from compare.running.run_variant import run_variant
from compare.running.systems import read_text
from compare.running.variants import variants_of
from compare.showing.pictures.charts import FAINT, INK, box, colour, letters_on, line, text
from protocols.timeline.records import Given
from tools.four_events import BEGIN_S, EVENTS, scenario

PICTURE = "docs/lessons/invisible-time.svg"
PANELS = {"kafka:share": "Kafka, share group", "rocketmq:POP": "RocketMQ, POP (a client of the 5.x line)"}
FROZEN = "c2"
SHOWN_S = 150
WIDE, LEFT, RIGHT, ROW = 520.0, 16.0, 22.0, 22.0


def picture() -> str:
    """The SVG: a panel for each system."""
    parts, y = [], 24.0
    for variant in variants_of(read_text(scenario(EVENTS["freeze"])), tuple(PANELS)):
        attempts = _attempts(run_variant(variant).timeline.given)
        parts.append(text(LEFT, y + 14, PANELS[variant.label], weight="bold"))
        parts += _rows(attempts, y + 22)
        y += 22 + len(attempts) * ROW + 22
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE:.0f}" viewBox="0 0 {WIDE:.0f} {y:.0f}" role="img" '
            'font-family="sans-serif" font-size="12">',
            "<title>Invisible time: one record, its member freezes</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            text(LEFT, 16, f"{FROZEN} freezes at 0 s with a record that nobody else can get"),
            *parts,
            "</svg>\n",
        ]
    )


def _attempts(given: Sequence[Given]) -> list[Given]:
    """Every attempt at the first record that the frozen member still had at the event."""
    event = BEGIN_S * 1000.0
    had = min(
        each
        for each in given
        if each.member == FROZEN and each.since <= event + 1000 and each.until is not None and each.until > event + 5000
    )
    return [each for each in given if each.queue == had.queue and each.first <= had.first < each.end]


def _rows(attempts: Sequence[Given], top: float) -> list[str]:
    event, scale = BEGIN_S * 1000.0, (WIDE - LEFT - RIGHT) / (SHOWN_S * 1000)

    def x(time: float) -> float:
        return LEFT + min(max(time - event, 0.0), SHOWN_S * 1000) * scale

    bottom = top + len(attempts) * ROW
    parts = []
    for second in range(0, SHOWN_S + 1, 30):
        at = LEFT + second * 1000 * scale
        parts += [
            line(at, top - 3, at, bottom, INK, dashed=True),
            text(at, bottom + 12, f"{second} s", anchor="middle", fill="#555555"),
        ]
    for number, each in enumerate(sorted(attempts, key=lambda each: each.since)):
        y, until = top + number * ROW, each.until if each.until is not None else event + SHOWN_S * 1000
        fill = colour(0 if each.member != FROZEN else 1)
        long = x(until) - x(each.since)
        said = f"attempt {each.attempt}: {each.member}, {(until - each.since) / 1000:.3g} s ({each.fate})"
        fits = long > 220
        right = x(until) > WIDE * 0.6
        parts += [box(LEFT, y, WIDE - LEFT - RIGHT, ROW - 4, FAINT), box(x(each.since), y, max(long, 2), ROW - 4, fill)]
        place = x(each.since) + 5 if fits else x(each.since) - 5 if right else x(until) + 5
        parts.append(
            text(
                place,
                y + 13,
                said,
                anchor="end" if right and not fits else "start",
                fill=letters_on(fill) if fits else INK,
            )
        )
    return parts
