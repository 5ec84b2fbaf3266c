"""How long each snapshot of a group stands: until the next poll of its cluster, but for at most twice its interval; the
last one for one interval."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from compare.figures.last_step import Flags

HOUR_MS, DAY_MS = 3_600_000, 86_400_000

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Standing:
    """The polls of a cluster in order of time: when they were (``ms`` since 1970), how long their snapshots stand
    (``stands``, milliseconds), and how many files have a poll (``files``)."""

    ms: Whole
    stands: Whole
    files: Whole

    def places(self, ms: Whole) -> Whole:
        """The number of the poll of each of these snapshots."""
        first, last = np.searchsorted(self.ms, [ms.min(), ms.max()])
        found: Whole = first + np.searchsorted(self.ms[first : last + 1], ms)
        return found

    def followed(self, files: Iterable[Whole]) -> Flags:
        """Whether a poll has one in other files than these (each the numbers of its polls) within the hour before."""
        others = self.files.copy()
        for polls in files:
            others[polls] -= 1
        until = np.cumsum(others)
        before = np.searchsorted(self.ms, self.ms - HOUR_MS, side="right")
        found: Flags = until > np.append(0, until)[before]
        return found


def polls_of(rows: pa.Table) -> pa.Table:
    """When a file's snapshots were taken (``ms``), each time once, with the longest interval (``every_s``)."""
    return rows.group_by("ms").aggregate([("every_s", "max")]).rename_columns(["ms", "every_s"])


def standing(files: Sequence[tuple[str, pa.Table]]) -> Mapping[str, Standing]:
    """The polls of each cluster; ``files``: the cluster and the polls (`polls_of`) of each file, also of those that did
    not see a group."""
    found = {}
    for cluster in dict.fromkeys(name for name, _ in files):
        polls = pa.concat_tables(of_file for name, of_file in files if name == cluster)
        each = polls.group_by("ms").aggregate([("every_s", "max"), ([], "count_all")]).sort_by("ms")
        ms, every = each["ms"].to_numpy(), np.rint(each["every_s_max"].to_numpy() * 1000).astype(np.int64)
        stands = np.append(np.minimum(np.diff(ms), 2 * every[:-1]), every[-1:])
        found[cluster] = Standing(ms, stands, each["count_all"].to_numpy())
    return found
