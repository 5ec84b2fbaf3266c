"""From the class that a client names as its strategy to the design's name."""

from compare.catalogues import ROCKETMQ_CLASSES

_NAMES = {java_class: name for name, java_class in ROCKETMQ_CLASSES.items()}
_PACKAGES = (
    "org.apache.rocketmq.client.consumer.rebalance.",
    "com.alibaba.rocketmq.client.consumer.rebalance.",
)


def strategy_of(printed: str) -> str | None:
    """The strategy in ``class@hash``: one of the design's names, else the class; None if there is nothing.

    A class of someone else's package is not ours, whatever it is called.
    """
    name = printed.rsplit("@", 1)[0].strip()
    for package in _PACKAGES:
        if name.startswith(package):
            return _NAMES.get(name.removeprefix(package), name)
    return name or None
