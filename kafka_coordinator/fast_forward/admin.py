"""When an administrator is quiescent: as long as there is nothing to do."""

from collections.abc import Hashable

from kafka_coordinator.cluster.admin import Admin
from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS
from protocols.engine.fast_forward.contract import Quiescence
from protocols.engine.nodes import Message, Outbox, Time, TimerName


class AdminAdapter:
    """Nothing is sent to an administrator again and again, and he does nothing again and again."""

    judges = NO_JUDGEMENTS
    reader = source = None

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def quiescence(self, now: Time) -> Quiescence | None:
        return None if self._admin.todo else Quiescence()

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None:
        """There are none."""

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        """There are none."""
