"""Sending surplus to where it is wanted, along the arcs of a network that still have room (Dinitz 1970).

The networks of this package have few nodes and are dense: topics on one side, members on the other. They are asked for
the arcs that lead to a given set of nodes, so that a search looks at every node once, not at every arc.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Protocol


class Network(Protocol):
    """Nodes are numbers. An arc may be used while it has room; using it gives the opposite arc room."""

    def onward(self, node: int, among: AbstractSet[int]) -> list[int]:
        """The nodes of ``among`` to which an arc with room leads, ascending."""

    def room(self, tail: int, head: int) -> int:
        """How much more the arc can carry."""

    def push(self, tail: int, head: int, amount: int) -> None:
        """Send ``amount`` along the arc."""


def drain(network: Network, nodes: Iterable[int], surplus: dict[int, int], wanted: dict[int, int]) -> set[int]:
    """Send as much of ``surplus`` as can go to the nodes where something is ``wanted``; both are reduced in place.

    Returns the nodes that what is left of the surplus can still reach: nothing is wanted in any of them.
    """
    everywhere = set(nodes)
    while True:
        layers = _layers(network, everywhere, surplus)
        if not any(wanted.get(node) for layer in layers for node in layer):
            return set().union(*layers)
        _send(network, layers, surplus, wanted)


def _layers(network: Network, nodes: AbstractSet[int], surplus: Mapping[int, int]) -> list[set[int]]:
    """The nodes by their number of steps from the nearest surplus."""
    frontier = {node for node, amount in surplus.items() if amount}
    unseen = set(nodes - frontier)
    layers = []
    while frontier:
        layers.append(frontier)
        following: set[int] = set()
        for node in sorted(frontier):
            found = network.onward(node, unseen)
            following.update(found)
            unseen.difference_update(found)
        frontier = following
    return layers


def _send(network: Network, layers: list[set[int]], surplus: dict[int, int], wanted: dict[int, int]) -> None:
    """Fill the paths that go one layer further at every step until none is left."""
    depth = len(layers)
    arcs: dict[int, list[int]] = {}
    for source in sorted(layers[0]):
        path = [source]
        while path and surplus[source]:
            node = path[-1]
            if len(path) > 1 and wanted.get(node):
                amount = min(surplus[source], wanted[node], *map(network.room, path, path[1:]))
                for tail, head in pairwise(path):
                    network.push(tail, head, amount)
                surplus[source] -= amount
                wanted[node] -= amount
                path = [source]
                continue
            if node not in arcs:
                arcs[node] = network.onward(node, layers[len(path)]) if len(path) < depth else []
            ahead = arcs[node]
            while ahead and not network.room(node, ahead[-1]):
                ahead.pop()
            if ahead:
                path.append(ahead[-1])
            else:
                path.pop()
                if path:
                    arcs[path[-1]].pop()
