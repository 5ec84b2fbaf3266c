"""Names of the members that the user's code makes by constructing consumers."""

from compare.testing.handling import HandlingGroup


def of_group(kind: type, group: HandlingGroup, names: "Names | None" = None) -> type:
    """The class for the clients of this group alone; ``names``: where its consumers take their names from."""
    more = {} if names is None else {"next_name": staticmethod(names.next)}
    return type(kind.__name__, (kind,), {"__doc__": kind.__doc__, "group": group, **more})


class Names:
    """First those that the test gives, then ``c1``, ``c2``, ..."""

    def __init__(self, group: HandlingGroup, members: tuple[str, ...]) -> None:
        self._group, self._given = group, list(members)
        self._used: set[str] = set()

    def next(self, client_id: str | None = None) -> str:
        """The name of the member that is made now: the next that was given, else its ``client_id``, else a new one."""
        if self._given:
            name = self._given.pop(0)
        else:
            taken = {*self._used, *self._group.known}
            name = client_id or ""
            number = 1
            while not name or name in taken:
                name = f"{client_id}-{number + 1}" if client_id else f"c{number}"
                number += 1
        self._used.add(name)
        return name
