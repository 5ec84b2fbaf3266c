"""State machines as small pictures, from the tables that the code runs from: states in one column, edges beside it.

Edges that lead down run on the right, edges that lead up on the left, each in a lane of its own where they overlap.
Labels are left out: the player tells the event of the edge that it lights up.
"""

from collections.abc import Collection

from compare.running.systems import MACHINES, Machine, machine
from protocols.state_machine import BEGINNING

OUTSIDE = (BEGINNING, "ABSENT")
"""States that say that there is no such thing: nobody is shown in them."""

WIDTH, HEIGHT = 190, 44
"""Of a state, in pixels; there is room in it for who is in the state."""
GAP, LANE, PORT = 20, 9, 7


def graphs(system: str) -> list[dict[str, object]]:
    """The machines of a system: name, its states and edges with their places; none for a system without.

    ``machine`` is what the facts of `protocols.facts.Transition` call it; ``members``: the machine of the members,
    where it is that of a group; ``over``: states in which there is no such thing any more, or not yet.
    """
    return [_graph(machine(system, name)) for name in MACHINES.get(system, {})]


def graphs_of_runs(system: str, texts: Collection[str]) -> list[dict[str, object]]:
    """The machines that the report's player shows: those of the consumer protocol only where a run has taken a step of
    theirs, whose name is then among the player's ``texts``."""
    return [each for each in graphs(system) if each["machine"] not in _WHERE_TAKEN or each["machine"] in texts]


_WHERE_TAKEN = ("consumer protocol", "consumer group", "consumer group member")


def _graph(drawn: Machine) -> dict[str, object]:
    place = {state: at for at, state in enumerate(drawn.states)}
    pairs = sorted(
        {(place[before], place[after]) for before, after in drawn.between() if before != after},
        key=lambda pair: (abs(pair[1] - pair[0]), pair),
    )
    leading_on = {before for before, _ in pairs}
    lanes: dict[bool, list[list[tuple[int, int]]]] = {True: [], False: []}
    lane_of = {}
    for before, after in pairs:
        low, high = sorted((before, after))
        of_side = lanes[after > before]
        free = (n for n, lane in enumerate(of_side) if all(high <= a or b <= low for a, b in lane))
        number = next(free, len(of_side))
        if number == len(of_side):
            of_side.append([])
        of_side[number].append((low, high))
        lane_of[before, after] = number
    left = LANE * (len(lanes[False]) + 1)
    ports: dict[tuple[int, bool], int] = {}
    edges = []
    for before, after in pairs:
        down = after > before
        edge = left + WIDTH if down else left
        lane = edge + (1 if down else -1) * LANE * (lane_of[before, after] + 1)
        leaves = _height(before, _port(ports, before, down))
        arrives = _height(after, _port(ports, after, down))
        edges.append(
            {
                "from": drawn.states[before],
                "to": drawn.states[after],
                "path": f"M{edge} {leaves}H{lane}V{arrives}H{edge + (5 if down else -5)}",
                "tip": f"M{edge} {arrives}l{7 if down else -7} -4v8z",
            }
        )
    return {
        "name": drawn.name,
        "machine": _MACHINE.get((drawn.system, drawn.name), drawn.name),
        "members": _MEMBERS.get((drawn.system, drawn.name)),
        "outside": next((state for state in OUTSIDE if state in place), None),
        "over": [state for state in place if state in OUTSIDE or place[state] not in leading_on],
        "states": [
            {"name": state, "shown": drawn.shown(state), "x": left, "y": at * (HEIGHT + GAP) + 4}
            for state, at in place.items()
        ],
        "edges": edges,
        "width": left + WIDTH + LANE * (len(lanes[True]) + 1),
        "height": len(place) * (HEIGHT + GAP) - GAP + 8,
        "box": [WIDTH, HEIGHT],
    }


_MEMBERS = {("kafka", "group"): "client", ("kafka", "consumer group"): "consumer group member"}
"""System and machine of a group to that of its members, as the nodes call it."""

_MACHINE = {("kafka", "consumer"): "client"}
"""What the nodes call a machine, where the drawings call it otherwise."""


def _port(ports: dict[tuple[int, bool], int], state: int, right: bool) -> int:
    """The next free place at this side of a state: beside the middle, then further and further from it."""
    number = ports[state, right] = ports.get((state, right), -1) + 1
    return (number + 1) // 2 * (PORT if number % 2 else -PORT) if number else 0


def _height(state: int, port: int) -> int:
    middle = state * (HEIGHT + GAP) + 4 + HEIGHT // 2
    return middle + max(-HEIGHT // 2 + 3, min(HEIGHT // 2 - 3, port))
