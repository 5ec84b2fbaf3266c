"""Names of this package that are gone: whoever uses one is told in one line what to take instead."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

_REAL_CLIENT: Final = "has no double any more: the real client joins the fixture kafka_broker, see docs/testing.md"
_CALLBACK: Final = (
    "rocketmq-client-python has no double any more: group.push_consumer() calls a listener in virtual time, the real"
    " client joins the fixture rocketmq_cluster, see docs/testing.md"
)
_V5: Final = (
    "RocketMQ's 5.x client has no double any more: the released client joins the proxy of the fixture"
    " rocketmq_cluster, see docs/testing.md"
)

REMOVED: Final[Mapping[str, str]] = {
    "AdminClient": f"confluent-kafka's AdminClient {_REAL_CLIENT}",
    "DeserializingConsumer": f"confluent-kafka's DeserializingConsumer {_REAL_CLIENT}",
    "SerializingProducer": f"confluent-kafka's SerializingProducer {_REAL_CLIENT}",
    "aiokafka": f"aiokafka {_REAL_CLIENT}",
    "confluent.admin": f"confluent-kafka's AdminClient {_REAL_CLIENT}",
    "confluent.futures": f"confluent-kafka's AdminClient {_REAL_CLIENT}",
    "kafka_python": f"kafka-python {_REAL_CLIENT}",
    "popping": _V5,
    "rocketmq.callback": _CALLBACK,
    "rocketmq.v5": _V5,
    "rocketmq_client": _CALLBACK,
    "rocketmq_v5": _V5,
    "virtual_loop": "coroutines do not run in virtual time any more: run them with asyncio.run"
    " and the fixture kafka_broker, see docs/testing.md",
}
"""A group's method, a class of `Group.confluent`, or a module's name after ``compare.testing.``
(``confluent.admin``), to the line with what stands in its place."""


class HasRemoved:
    """What once had methods that are listed here: to ask for one raises `AttributeError` with its line."""

    if not TYPE_CHECKING:  # else every attribute would be known

        def __getattr__(self, name: str) -> object:
            if name in REMOVED:
                raise AttributeError(REMOVED[name])
            return object.__getattribute__(self, name)  # the error as it was, also one from within a property


class _RemovedModules:
    """The last of Python's finders, which is asked for what nobody has found."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Raises `ImportError` with its line for a module that is listed here."""
        package, _, name = fullname.partition(f"{__name__.rpartition('.')[0]}.")
        if not package and name in REMOVED:
            raise ImportError(REMOVED[name], name=fullname)


sys.meta_path.append(_RemovedModules())
