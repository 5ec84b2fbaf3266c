"""Whatever is written or given is a scenario, or refused in one line."""

import re
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from compare.running.systems import read_text, scenario
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from tests.protocols.scenario.texts import LINES as DAY

EXPECT = len(DAY) - 1
SEVERAL = (
    "  - {at: 200s, join: c4..c6, like: c1}",
    "  - {at: 210s, hang: [c1, c4..c5], for: 5s}",
    "  - {at: 220s, rolling: [c3, c4..c6], gap: 20s, downtime: 10s, at_once: 2, how: crash}",
    "  - {at: 260s, rolling: c5, gap: 5s, surge: 5s, settings: {session.timeout.ms: 6000}}",
)
LINES = (*DAY[:EXPECT], *SEVERAL, *DAY[EXPECT:])
"""The day with events of several members before its expectations."""


def refused(make: Callable[[], Scenario]) -> str | None:
    """What the user is told; None where the scenario is made."""
    try:
        make()
    except UserError as error:
        return str(error)
    return None


TOKENS = st.sampled_from(
    [
        *sorted({token for line in LINES for token in re.findall(r"[\w.:/-]+|[\[\]{},]", line)}),
        "-1s",
        "&a",
        "*a",
        "<<",
        "~",
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The scenario with some tokens replaced, lines dropped, doubled or moved."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["token", "token", "token", "drop", "double", "swap", "indent", "text"])):
            case "token":
                tokens = re.split(r"([\w.:/-]+|[\[\]{},])", lines[at])
                spot = draw(st.integers(0, len(tokens) - 1))
                tokens[spot] = draw(TOKENS)
                lines[at] = "".join(tokens)
            case "drop":
                lines[at] = ""
            case "double":
                lines.insert(at, lines[at])
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case "indent":
                lines[at] = " " * draw(st.integers(1, 8)) + lines[at].lstrip()
            case "text":
                lines[at] += draw(st.text(max_size=5))
    return "\n".join(lines)


def test_the_day_that_is_mutated_is_read() -> None:
    assert refused(lambda: read_text("\n".join(LINES), "day.yaml")) is None


@given(mutated())
def test_a_mutated_scenario_is_read_or_refused_in_one_line(text: str) -> None:
    refusal = refused(lambda: read_text(text, "day.yaml"))
    assert refusal is None or re.fullmatch(r"day\.yaml line \d+: .+", refusal)


@given(
    st.dictionaries(
        st.sampled_from(["name", "brokers", "topics", "groups", "group", "run", "systems", "events", "load", "expect"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["at", "join", "for", "members", "subscribe", "queues", "system", "c1"])
                    | st.sampled_from(["crash", "rolling", "gap", "surge", "like"])
                    | st.integers(),
                    inner,
                    max_size=3,
                )
            ),
            max_leaves=12,
        ),
    )
)
def test_whatever_python_gives_is_a_scenario_or_refused_in_one_line(given: dict[str, object]) -> None:
    refusal = refused(lambda: scenario(given))
    assert refusal is None or re.fullmatch(r"scenario: .+", refusal)
