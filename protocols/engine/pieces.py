"""Bytes that wait until a client's transport takes them."""

from collections import deque
from collections.abc import Iterable


class Pieces:
    """In their order; ``size`` bytes together. A piece is not copied before it is taken."""

    __slots__ = ("_pieces", "size")

    def __init__(self) -> None:
        self._pieces: deque[bytes | memoryview] = deque()
        self.size = 0

    def put(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self._pieces.append(piece)
            self.size += len(piece)

    def take(self, most: int) -> bytes:
        """The next bytes, at most so many, as one."""
        if self.size <= most:
            whole = b"".join(self._pieces)
            self._pieces.clear()
            self.size = 0
            return whole
        taken: list[bytes | memoryview] = []
        left = most
        while left:
            piece = self._pieces.popleft()
            if len(piece) > left:
                view = memoryview(piece)
                self._pieces.appendleft(view[left:])
                piece = view[:left]
            taken.append(piece)
            left -= len(piece)
        self.size -= most
        return b"".join(taken)
