"""The explorer's world: the nodes that the simulation drives, in every order of deliveries, timers, choices and events.

`protocols.scenario.exploring.explored` gives a `World` and its first `State`. A state is a tuple of small numbers; two
states are equal exactly where all nodes, all that is on its way, the events and what the properties remember are.

- `World.actions(state)`: all that can happen, in a fixed order. `World.successors(state)`: each of them with each way
  to choose, and the state it leads to. `World.step(state, action, told)`: one of them; ``told`` collects what happened.
- `Action`: names its processes, so that a list of actions replays anywhere (`World.step` raises `ValueError` where one
  cannot happen).
- `World.node`, `timers`, `in_flight`, `run`, `progress`: what is in a state. `World.violated(state)`: which properties
  do not hold; a property is a `Watch`.
- `World.is_quiet(state)`: nothing is on its way.

What is abstracted: a node's clock stands still but for the timer that fires (`steps`); a message is only lost where an
event says so, and late else; timers fire as often as `Bounds` says.
"""

from protocols.engine.exploration.rules import BrokenInvariant, Ended, NodeRules, Watch
from protocols.engine.exploration.states import Action, Bounds, Happened, State
from protocols.engine.exploration.world import World

__all__ = [
    "Action",
    "Bounds",
    "BrokenInvariant",
    "Ended",
    "Happened",
    "NodeRules",
    "State",
    "Watch",
    "World",
]
