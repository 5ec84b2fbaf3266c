"""The same optimum as one minimum-cost flow, solved by networkx: slower, and found in an entirely different way.

Topics send their queues to subscribers, members send them on. A member's k-th queue costs k times more than all moves
together could, so loads become fairest first; an arc of the topic's queues that a member owns today costs nothing, its
parallel for further ones 1, so moves become fewest second.
"""

from typing import Any

import networkx as nx

from compare.optima.certificate import owners_of
from protocols import Allocation, Group


def optimum_by_flow(group: Group, today: Allocation | None = None) -> tuple[tuple[int, ...], int]:
    """The loads, descending, and the number of moves of the optimum; arguments and meaning as in `optimum`."""
    graph: nx.MultiDiGraph[object] = nx.MultiDiGraph()
    owners = owners_of(today or {})
    subscribers = {topic: [group.members[n].id for n in who] for topic, who in group.subscribers().items() if who}
    queues = sum(len(group.topics[topic]) for topic in subscribers)
    # Topic by topic in even parts is an allocation, so nobody needs more in a fairest one.
    most = dict.fromkeys((member.id for member in group.members), 0)
    for topic, who in subscribers.items():
        free: dict[tuple[str, ...], int] = {}
        for queue in group.topics[topic]:
            keepers = tuple(member for member in owners.get(queue, ()) if member in who)
            # Queues with at most one owner are told apart by that alone, queues with several by all of them.
            node = keepers if len(keepers) > 1 else ()
            free[node] = free.get(node, 0) + 1
            for member in keepers:
                arc = ("topic", topic, node), ("member", member), "kept"
                kept = graph.edges[arc]["capacity"] if graph.has_edge(*arc) else 0
                graph.add_edge(*arc, capacity=kept + 1, weight=0)
        for keepers, count in free.items():
            graph.add_node(("topic", topic, keepers), demand=-count)
            for member in who:
                graph.add_edge(("topic", topic, keepers), ("member", member), "moved", capacity=count, weight=1)
        for member in who:
            most[member] += -(-len(group.topics[topic]) // len(who))
    graph.add_node("sink", demand=queues)
    limit = max(most.values(), default=0)
    for member in most:
        for load in range(1, limit + 1):
            graph.add_edge(("member", member), "sink", load, capacity=1, weight=load * (queues + 1))
    flow: dict[Any, Any] = nx.network_simplex(graph)[1]
    loads = sorted((sum(flow["member", m]["sink"].values()) if limit else 0 for m in most), reverse=True)
    cost = sum(arcs.get("moved", 0) for node in flow if node[0] == "topic" for arcs in flow[node].values())
    first = sum(1 for topic in subscribers for queue in group.topics[topic] if queue not in owners)
    return tuple(loads), cost - first
