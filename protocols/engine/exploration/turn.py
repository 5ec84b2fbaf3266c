"""One action of the explorer's world, and all that follows from it at once."""

from collections.abc import Callable, Sequence
from typing import Any

from protocols.engine.exploration import states
from protocols.engine.exploration.holdings import Draft, Holdings
from protocols.engine.exploration.rules import Ended
from protocols.engine.exploration.steps import CLOSED, CONNECTED, RECEIVE, START, TIMEOUT, WOKEN, Branch, NodeEvent
from protocols.engine.nodes import OPERATOR, ExploredNode, Message

_NAMES = {
    START: "start",
    RECEIVE: "receive",
    TIMEOUT: "timeout",
    CONNECTED: "connected",
    CLOSED: "closed",
    WOKEN: "woken",
}


class Turn(Draft):
    """One action: a state that is changed until all that follows at once has happened."""

    def __init__(
        self, world: Holdings, state: list[int], choices: Sequence[int], told: list[states.Happened] | None
    ) -> None:
        super().__init__(world, state)
        self.options: list[int] = []
        """How many options each choice had."""
        self._choices = choices
        self._told = told
        self._waiting: list[tuple[str, int]] = []
        self._is_busy = False

    def act(self, action: states.Action) -> None:
        world = self.world
        if action.kind == states.DELIVER:
            self._deliver(action.of, str(action.what))
        elif action.kind == states.FIRE:
            run = self.run(action.of)
            living = world.steps.livings[run.living]
            timers = () if living is None else [each for each, _ in living.timers]
            if not run.firings or run.hangs or int(action.what) >= len(timers):
                raise ValueError(f"{action}: no such timer can fire")
            self.tell_node(action.of, NodeEvent(TIMEOUT, "", timers[int(action.what)]))
        else:
            self._happen(int(action.what))

    # What events do.

    def start(self, name: str, node: ExploredNode) -> None:
        before = self.run(name)
        if before.living:
            raise ValueError(f"process {name!r} runs already")
        world = self.world
        branch = self._chosen(world.steps.begin(name, self._with_remains(name, node), before.ids))
        living = world.steps.livings[branch.living]
        assert living is not None
        self._tell("start", name, "", None)
        firings = before.firings if before.life else world.firings_of(node)
        remembered = world.remember(before.remembered, branch.facts)
        self.put(name, states.Run(branch.living, firings, False, (), before.life + 1, living.ids, remembered))
        self._effects(name, branch)
        self._settle()

    def end(self, name: str, how: Callable[[states.Pair, int], states.Pair] = states.end) -> None:
        run = self.run(name)
        self._tell("end", name, "", None)
        world = self.world
        left, remembered = world.steps.remains(run.living), run.remembered
        if name in world.servers:
            remembered = world.remember(remembered, (Ended(),))
        self.put(name, run._replace(living=0, hangs=False, backlog=(), remembered=remembered, left=left))
        for one, other in self.world.pair_column:
            if one == name:
                self._hang_up(name, other, how)

    def lose(self, name: str) -> None:
        """The process's machine is gone: its connections do not close, and nobody is told."""
        self.end(name, states.lose)

    def hang(self, name: str) -> None:
        self.put(name, self.run(name)._replace(hangs=True))

    def wake(self, name: str) -> None:
        run = self.run(name)
        self.put(name, run._replace(hangs=False, backlog=()))
        living = self.world.steps.livings[run.living]
        if living is not None and hasattr(living.node, "woken"):
            ended = []
            for (one, other), (column, side) in self.world.pair_column.items():
                if one == name:
                    was_ended, pair = states.ended_meanwhile(self._pair(column), side)
                    if was_ended:
                        ended.append(other)
                        self._set_pair(column, pair)
            if ended:
                self.tell_node(name, NodeEvent(WOKEN, "", tuple(ended)))
        for message in run.backlog:
            self.tell_node(name, NodeEvent(RECEIVE, OPERATOR, message))

    def command(self, name: str, message: Message) -> None:
        """The operator tells a node something; one that hangs hears of it when it goes on."""
        steps = self.world.steps
        number = steps.message(message)
        run = self.run(name)
        if run.hangs:
            self.put(name, run._replace(backlog=(*run.backlog, number)))
        elif run.living:
            living = steps.livings[run.living]
            assert living is not None
            node = self._with_remains(name, living.node)
            if node is not living.node:
                self.put(name, run._replace(living=steps.living(living._replace(node=node))))
            self.tell_node(name, NodeEvent(RECEIVE, OPERATOR, number))

    def cut(self, name: str, peer: str) -> None:
        column, side = self.world.pair_column[name, peer]
        pair = self._pair(column)
        if pair.is_open[side]:
            self._hang_up(name, peer, states.close)
            self.tell_node(name, NodeEvent(CLOSED, peer))

    def observe(self, name: str, fact: tuple[object, ...]) -> None:
        """A fact about a process that its node did not tell."""
        run = self.run(name)
        self._tell("fact", name, "", fact)
        self.put(name, run._replace(remembered=self.world.remember(run.remembered, (fact,))))

    def leave_for_later(self, what: tuple[int, int, str]) -> None:
        """Something is still to come, any time from now on."""
        progress = self.progress
        self._set_progress(progress._replace(later=(*progress.later, what)))

    def script_is(self, state: int) -> None:
        """The script is in this state from now on."""
        self._set_progress(self.progress._replace(script=state))

    def tell_node(self, name: str, event: NodeEvent) -> None:
        """Something happens to a node, and all that follows at once."""
        self._waiting.append((name, self.world.steps.event(event)))
        if not self._is_busy:
            self._settle()

    # Within.

    def _with_remains(self, name: str, node: ExploredNode) -> ExploredNode:
        """The node with what outlives processes, its own or others, where there is such a thing."""
        world = self.world
        lasting = world.steps.rules.lasting.get(type(node))
        if lasting is None:
            return node
        remains = {}
        for server in world.servers:
            run = self.run(server)
            number = world.steps.remains(run.living) or run.left
            if number:
                remains[server] = world.steps.left[number]
        node = node.copy()
        lasting.take_over(node, name, remains)
        return node

    def _settle(self) -> None:
        self._is_busy = True
        world = self.world
        while self._waiting:
            name, event = self._waiting.pop(0)
            column = world.column[name]
            if not world.runs.values[self.state[column]].living:
                continue
            if self._told is not None:
                self._tell_event(name, world.steps.events[event])
            moves = world.moved(self.state[column], name, event)
            moved = moves[0] if len(moves) == 1 else self._chosen_of(moves)
            self.state[column] = moved.run
            self._effects(name, moved.branch)
        self._is_busy = False

    def _effects(self, name: str, branch: Branch) -> None:
        if self._told is not None:
            for chosen in branch.chosen:
                self._tell("choice", name, "", chosen)
            for fact in branch.facts:
                self._tell("fact", name, "", fact)
        for to, message in branch.sends:
            if message < 0:
                self._hang_up(name, to, states.close)
            else:
                self._send(name, to, message)

    def _send(self, name: str, to: str, message: int) -> None:
        column, side = self.world.pair_column[name, to]
        pair = self._pair(column)
        fault = self._fault(name, to)
        if fault == states.CUT:
            self._tell("lost", name, to, message)
            return
        if not pair.is_open[side] and not self.run(to).living:
            self._tell("send", name, to, message)
            self._waiting.append((name, self.world.steps.event(NodeEvent(CLOSED, to))))
            return
        after, has_opened = states.send(pair, side, message)
        is_lost = fault is not None and (fault == states.DEAF or self._pick(2) == 1)
        if is_lost and after is not pair:
            after = states.unsent(after, side)
        self._tell("lost" if is_lost else "send", name, to, message)
        self._set_pair(column, after)
        if has_opened:
            self._waiting.append((name, self.world.steps.event(NodeEvent(CONNECTED, to))))

    def _deliver(self, sender: str, receiver: str) -> None:
        column, side = self.world.pair_column[sender, receiver]
        pair = self._pair(column)
        if not pair.flights[side] or self.run(receiver).hangs:
            raise ValueError(f"nothing from {sender} can arrive at {receiver}")
        what, pair = states.take(pair, 1 - side)
        self._set_pair(column, pair)
        if what == states.OPENS:
            self.tell_node(receiver, NodeEvent(CONNECTED, sender))
        elif what == states.CLOSES:
            self.tell_node(receiver, NodeEvent(CLOSED, sender))
        elif what is not None:
            self.tell_node(receiver, NodeEvent(RECEIVE, sender, what))

    def _happen(self, what: int) -> None:
        world = self.world
        progress = self.progress
        if what == 0:
            if progress.events >= len(world.script.events):
                raise ValueError("no event is left")
            self._set_progress(progress._replace(events=progress.events + 1))
            world.script.happen(self, progress.events)
            return
        left = progress.later[what - 1]
        later = (*progress.later[: what - 1], *progress.later[what:])
        self._set_progress(progress._replace(later=later))
        world.script.go_on(self, left)

    def _chosen(self, branches: Sequence[Branch]) -> Branch:
        return branches[self._pick(len(branches))]

    def _chosen_of(self, moves: Sequence[states.Moved]) -> states.Moved:
        return moves[self._pick(len(moves))]

    def _pick(self, options: int) -> int:
        if options == 1:
            return 0
        at = len(self.options)
        self.options.append(options)
        picked = self._choices[at] if at < len(self._choices) else 0
        if picked >= options:
            raise ValueError(f"option {picked} of {options}")
        return picked

    def _tell(self, kind: str, process: str, peer: str, what: Any) -> None:
        if self._told is not None:
            shown = self.world.steps.messages[what] if kind in states.SENDINGS else what
            self._told.append(states.Happened(kind, process, peer, shown))

    def _tell_event(self, name: str, event: NodeEvent) -> None:
        kind, peer, what = event
        shown = self.world.steps.messages[what] if kind == RECEIVE else what
        self._tell(_NAMES[kind], name, peer, shown)
