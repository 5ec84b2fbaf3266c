"""Even shares being filled: the state of the equal-subscription path of the sticky assignors (spec 5.6)."""

from dataclasses import dataclass, field

from kafka_coordinator.assignors.inputs import AssignorError


@dataclass(slots=True)
class Shares:
    """Who owns what so far; members are positions. ``seats`` members may own ``least + 1``, the others ``least``.

    ``below``: members with less than ``least``, by id; ``even``: members with exactly ``least`` who may get a
    seat, in the order in which they get it; ``taken``: number of seats that are taken.
    """

    least: int
    seats: int
    owned: list[list[int]]
    below: list[int] = field(default_factory=list)
    even: list[int] = field(default_factory=list)
    taken: int = 0

    @property
    def most(self) -> int:
        return self.least + (self.seats > 0)

    def take_seat(self) -> None:
        """One more member owns ``most``; with the last seat nobody else may."""
        self.taken += 1
        if self.taken == self.seats:
            self.even.clear()

    def deal(self, left: list[int]) -> None:
        """Step D: give the partitions in turn to the members below their share, then one each to the even ones.

        While nobody reaches the share the turns are regular, so that every member gets a slice at once. Raises
        `AssignorError` where some are left in the end.
        """
        start = 0
        below = self.below
        while below and start < len(left):
            rounds = self.least - max(len(self.owned[member]) for member in below)
            width = len(below)
            end = start + rounds * width
            for turn, member in enumerate(below, start):
                self.owned[member] += left[turn:end:width]
            start = end
            self.even += [member for member in below if len(self.owned[member]) == self.least]
            below = [member for member in below if len(self.owned[member]) < self.least]
        if len(left) - start > len(self.even):
            raise AssignorError("IllegalStateException", "partitions are left, and nobody may own more")
        for member, partition in zip(self.even, left[start:], strict=False):
            self.owned[member].append(partition)
