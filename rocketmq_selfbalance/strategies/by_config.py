"""CONFIG: the list that was configured, whoever asks for whatever topic (spec 4.8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from protocols.queues import Queue


@dataclass(frozen=True, slots=True)
class ByConfig:
    """``AllocateMessageQueueByConfig``. ``message_queue_list``: None where it was never set."""

    name: ClassVar[str] = "CONFIG"

    message_queue_list: tuple[Queue, ...] | None = None

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[Queue] | None,
        cid_all: Sequence[str] | None,
    ) -> tuple[Queue, ...] | None:
        """The list as it is: nothing is checked, queues of other topics stay in it."""
        return self.message_queue_list
