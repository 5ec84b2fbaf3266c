"""Events in words, as timelines and error messages tell them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from protocols.scenario.events import (
    AddTopic,
    BrokerEvent,
    Commit,
    Crash,
    DeleteTopic,
    Disconnect,
    Event,
    Hang,
    Join,
    Leave,
    Network,
    Produce,
    Queues,
    Reset,
    Restart,
    StopPolling,
    Subscribe,
)
from protocols.scenario.units import duration_text


def in_words(event: Event) -> str:
    """What happens, in a few words without the time: "c3 joins", "c1 hangs for 40s"."""
    return _WORDS[type(event)](event)


def listed(names: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _queues(event: Queues) -> str:
    return listed(f"{topic} has {sum(per_broker.values())} queues" for topic, per_broker in event.queues.items())


def _restart(event: Restart) -> str:
    how = " after a kill" if event.how == "crash" else ""
    return f"{event.restart} restarts{how}" + (f" with {event.strategy}" if event.strategy else "")


def _commit(event: Commit) -> str:
    what = "" if event.offsets is None else " " + listed(f"{queue} at {at}" for queue, at in event.offsets.items())
    claimed = "" if event.generation is None else f" claiming generation {event.generation}"
    return f"{event.commit} commits{what}{claimed}"


def _produce(event: Produce) -> str:
    return listed(
        f"{name} gets {count} record{'' if count == 1 else 's'} at once" for name, count in event.produce.items()
    )


def _network(event: Network) -> str:
    what = {
        "cut": "is cut",
        "loss": f"loses {event.loss:.0%} of messages",
        "delay": f"is {duration_text(event.delay)} slower",
    }[event.network]
    where = "of" if len(event.between) == 1 else "between"
    return f"network {where} {listed(event.between)} {what} for {duration_text(event.for_)}"


_WORDS: Mapping[type[Event], Callable[[Any], str]] = {
    Join: lambda event: f"{event.join} joins",
    Leave: lambda event: f"{event.leave} leaves",
    Crash: lambda event: f"{event.crash} crashes",
    Hang: lambda event: f"{event.hang} hangs for {duration_text(event.for_)}",
    StopPolling: lambda event: f"{event.stop_polling} stops polling for {duration_text(event.for_)}",
    Restart: _restart,
    Disconnect: lambda event: (
        f"{event.disconnect} loses its connection{f' to {event.broker}' if event.broker else 's'}"
    ),
    Subscribe: lambda event: listed(
        f"{member} subscribes to {listed(topics) if topics else 'nothing'}"
        for member, topics in event.subscribe.items()
    ),
    Commit: _commit,
    Produce: _produce,
    Queues: _queues,
    AddTopic: lambda event: f"{listed(event.add_topic)} is created",
    DeleteTopic: lambda event: f"{event.delete_topic} is deleted",
    BrokerEvent: lambda event: (
        f"{event.broker} " + {"stop": "stops", "kill": "is killed", "return": "returns"}[event.does]
    ),
    Network: _network,
    Reset: lambda event: (
        f"offsets of {event.reset_offsets} in {event.topic} are set back to {duration_text(event.to)}"
        + (" through the clients" if event.via == "client" else "")
    ),
}
