"""The calls of AIOKafkaConsumer about the group's offsets."""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from compare.testing.aiokafka.classes import OffsetAndMetadata, TopicPartition, errors
from compare.testing.aiokafka.offset_calls import OffsetCalls
from compare.testing.aiokafka.offsets import checked, refused
from compare.testing.handling import HandlingGroup


class CommitCalls(OffsetCalls):
    """The part of a consumer that commits."""

    group: ClassVar[HandlingGroup]
    """The group that it is a member of."""
    _committing: asyncio.Lock

    async def commit(self, offsets: Any = None) -> None:
        """Commit these offsets, or the positions of all that is assigned, and wait for the answer. Raises
        `CommitFailedError` where the group has gone on without this member."""
        wanted = self._to_commit(offsets)
        if not wanted:
            return
        async with self._called(), self._committing:
            reader = self._reader
            while True:
                reader.commit({tuple(each): at.offset for each, at in wanted.items()})
                await self._waiting.until(lambda: not reader.is_committing)
                if not reader.refusal:
                    break
                error = refused(reader.refusal)
                if error is not None:
                    raise error
            for each, at in wanted.items():
                self.group.handling.metadata[tuple(each)] = at.offset, at.metadata

    def _to_commit(self, offsets: Any) -> Mapping[Any, Any]:
        self._check_group()
        if not self._subscription.exists:
            raise errors.IllegalStateError("Not subscribed to any topics")
        if not self._subscription.has_assignment:
            raise errors.IllegalStateError("No partitions assigned")
        if offsets is None:
            positions = self._reader.positions() if self._reader.node is not None else {}
            return {TopicPartition(*each): OffsetAndMetadata(at, "") for each, at in positions.items()}
        found = checked(offsets)
        for each in found:
            if tuple(each) not in self._reader.read:
                raise errors.IllegalStateError(f"Partition {each} is not assigned")
        return found

    async def committed(self, partition: Any) -> int | None:
        """The group's committed offset; None where there is none."""
        self._check_group()
        async with self._called():
            return self._reader.committed().get(tuple(partition))

    def _check_group(self) -> None:
        if self._values["group_id"] is None:
            raise errors.IllegalOperation("Requires group_id")
