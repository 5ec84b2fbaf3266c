"""What a test lets happen between two calls of the user's code, also to members that are not there at that moment.

A member whose code has made no call yet is a process without a membership: it can be killed, hang or stand still.
Anything else waits until the member is there. To one that is gone nothing more happens.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol, TypeAlias

from compare.testing.faults import of_test
from compare.testing.group_interface import GroupInterface
from protocols.errors import UserError

Interruption: TypeAlias = Callable[[], object] | BaseException | type[BaseException]
"""Something to call, or to raise into the user's code."""

OF_MEMBERS = ("crash", "hang", "stop_polling", "disconnect", "leave", "commit")
"""Events of which the first field names those to whom they happen, who must be there."""


class Double(Protocol):
    """A consumer that the user's code holds."""

    member: str

    @property
    def is_alive(self) -> bool: ...
    def wake(self) -> None: ...


class Planned(NamedTuple):
    """An interruption; ``call``: the number of the call, ``before`` or after which it comes."""

    call: int
    before: bool
    what: Interruption


class Interruptions:
    """Those of one group, and what becomes of events whose members are not there."""

    def __init__(self, group: GroupInterface) -> None:
        self._group = group
        self.planned: list[Planned] = []
        self.strikes = False
        """Whether one comes to pass now."""
        self.thrown: BaseException | type[BaseException] | None = None
        """What was raised into the user's code on purpose last."""
        self.unjoined: set[str] = set()
        """Members whose code runs, or is about to, and has not joined yet."""
        self.killed: set[str] = set()
        """Those of them whose process was killed."""
        self.stopped: dict[str, float] = {}
        """Those of them that are stopped, and until when (milliseconds)."""
        self.postponed: list[dict[str, object]] = []

    def add(self, calls: int, with_: Interruption, after_calls: int | None, before_call: int | None) -> None:
        """Plan one, counted from the number of calls up to now. `UserError` for what cannot be."""
        if (after_calls is None) == (before_call is None):
            raise UserError("interrupt: expected either after_calls or before_call")
        number = after_calls if before_call is None else before_call
        if not isinstance(number, int) or number < 1:
            raise UserError(f"interrupt at call {number!r}: expected a call number counted from now, at least 1")
        self.planned.append(Planned(calls + number, before_call is not None, with_))

    def strike(self, number: int, *, before: bool) -> None:
        """Before or after the call with this number: what was planned comes to pass."""
        self._catch_up()
        for each in [each for each in self.planned if (each.call, each.before) == (number, before)]:
            self.planned.remove(each)
            if isinstance(each.what, BaseException | type):
                self.thrown = each.what
                raise each.what
            with self._striking():
                of_test(each.what)

    def remaining(self, fields: Mapping[str, object]) -> dict[str, object] | None:
        """What is left of an event for the members that are there; None where nothing is. Outside of an interruption
        an event of a member who is neither there nor about to join stays as it is, and will be refused."""
        kind = next((member for member in OF_MEMBERS if member in fields), None)
        if kind is None:
            return dict(fields)
        given = fields[kind]
        names = [given] if isinstance(given, str) else list(given) if isinstance(given, list | tuple) else []
        absent = [name for name in names if name not in self._group.members]
        left = [name for name in names if name not in absent or not self._takes(kind, name, fields)]
        if len(left) == len(names):
            return dict(fields)
        return {**fields, kind: left if len(left) > 1 else left[0]} if left else None

    def _takes(self, kind: str, member: str, fields: Mapping[str, object]) -> bool:
        """Whether what happens to an absent member is dealt with here."""
        if member in self.unjoined and kind in ("crash", "hang", "stop_polling", "disconnect"):
            if kind == "crash":
                self.killed.add(member)
            elif kind != "disconnect":
                lasting = fields.get("for", 0.0)
                self.stopped[member] = self._group.clock.time + (lasting if isinstance(lasting, int | float) else 0.0)
            return True
        if not self.strikes:
            return False
        if member in self.unjoined or member not in self._group.known:
            self.postponed.append({**fields, kind: member})
        return True

    def _catch_up(self) -> None:
        """What has waited for a member happens once it is there."""
        for fields in list(self.postponed):
            (member,) = (fields[kind] for kind in OF_MEMBERS if kind in fields)
            if member in self._group.members or member in self.unjoined:
                self.postponed.remove(fields)
                with self._striking():
                    self._group.happen(**fields)

    def refuse_unknown(self, doubles: Mapping[str, object]) -> None:
        """The user's code has ended: what still waits for a member that nobody knows cannot be; `UserError`."""
        for fields in list(self.postponed):
            (member,) = (fields[kind] for kind in OF_MEMBERS if kind in fields)
            if member not in self._group.known and member not in doubles:
                self.postponed.remove(fields)
                self._group.happen(**fields)

    @contextmanager
    def _striking(self) -> Iterator[None]:
        before, self.strikes = self.strikes, True
        try:
            yield
        finally:
            self.strikes = before
