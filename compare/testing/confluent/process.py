"""The process in which the user's code runs: what becomes of its consumers becomes of its producers, too."""

from compare.testing.interruptions import Double


class Process:
    """A process is killed when the last of its consumers is; one without consumers lives."""

    def __init__(self) -> None:
        self.consumers: list[Double] = []
        self.member = "a process without consumers"

    def add(self, consumer: Double) -> None:
        """A consumer is made in it."""
        self.consumers.append(consumer)

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return not self.consumers or any(each.is_alive for each in self.consumers)

    @property
    def caller(self) -> Double:
        """Who a call of another client counts as: the latest consumer that lives; the process where it has none."""
        alive = [each for each in self.consumers if each.is_alive]
        return alive[-1] if alive else self.consumers[-1] if self.consumers else self

    def wake(self) -> None:
        """Nothing stops a process without consumers."""
