"""How long each snapshot of a group stands: until the next poll of its cluster, but for at most twice its interval; the
last one for one interval."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compare.figures.last_step import Flags, Integers

KEYS = ("cluster", "system", "group")


def timed(rows: pa.Table, polls: pa.Table) -> pa.Table:
    """The snapshots with the column ``stands`` (milliseconds), in the order that `records_of` wants; ``polls``: columns
    ``cluster``, ``ms`` and ``every_s``, one row or more for each poll; those count that did not see a group, too."""
    polls = polls.group_by(["cluster", "ms"]).aggregate([("every_s", "max")])
    polls = polls.sort_by([("cluster", "ascending"), ("ms", "ascending")])
    every = np.rint(polls["every_s_max"].to_numpy() * 1000).astype(np.int64)
    of_row = np.empty(rows.num_rows, dtype=np.int64)
    row_ms = rows["ms"].to_numpy()
    clusters = rows["cluster"].combine_chunks().dictionary_encode()
    begins = np.flatnonzero(differs(polls, ("cluster",))).tolist()
    for start, end in zip(begins, [*begins[1:], len(every)], strict=True):
        ms = polls["ms"][start:end].to_numpy()
        stands = np.append(np.minimum(np.diff(ms), 2 * every[start : end - 1]), every[end - 1])
        here = clusters.indices.to_numpy() == clusters.dictionary.index(polls["cluster"][start]).as_py()
        of_row[here] = stands[np.searchsorted(ms, row_ms[here])]
    order = np.lexsort((row_ms, *(_ranks(rows[name]) for name in reversed(KEYS))))
    return rows.append_column("stands", pa.array(of_row)).take(pa.array(order))


def _ranks(names: pa.ChunkedArray) -> Integers:
    """The place of each name among the different ones."""
    coded = names.combine_chunks().dictionary_encode()
    places = np.empty(len(coded.dictionary), dtype=np.int64)
    places[pc.array_sort_indices(coded.dictionary).to_numpy()] = np.arange(len(places))
    found: Integers = places[coded.indices.to_numpy()]
    return found


def differs(rows: pa.Table, names: Sequence[str]) -> Flags:
    """Whether a row has another of these values than the one before it; the first row has."""
    found = np.ones(rows.num_rows, dtype=np.bool_)
    found[1:] = False
    for name in names:
        column = rows[name].combine_chunks()
        found[1:] |= pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    return found
