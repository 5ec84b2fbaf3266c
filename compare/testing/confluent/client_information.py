"""What a consumer tells about itself and its cluster, beside records."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from compare.testing.confluent.configuration import Configuration
from compare.testing.confluent.group_metadata import encoded
from compare.testing.confluent.member import KafkaMember
from compare.testing.transactions import Membership


class ClientInformation(ABC):
    """A part of `compare.testing.confluent.consumer.KafkaConsumer`."""

    _inner: KafkaMember
    _configuration: Configuration

    @abstractmethod
    def _call(self) -> AbstractContextManager[None]:
        """Around every call."""

    def consumer_group_metadata(self) -> bytes:
        """For a producer's ``send_offsets_to_transaction``: group and membership, as bytes."""
        with self._call():
            membership = Membership()
            if self._inner.node is not None:
                known = self._inner.state.membership
                instance = self._inner.state.config.instance_id if known.generation >= 0 else None
                membership = Membership(known.member_id, known.generation, instance)
            return encoded(self._configuration.group_id, membership)
