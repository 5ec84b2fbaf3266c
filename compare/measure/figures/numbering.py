"""Equal values to equal numbers."""

import numpy as np
import pyarrow as pa

from compare.measure.figures.rows import Numbers


def numbered(values: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """The different values in ascending order, and each value's position among them; they are 0 to ``size`` - 1."""
    if size <= 4 * len(values) + 4096:
        there = np.zeros(size, dtype=bool)
        there[values] = True
        position = np.cumsum(there, dtype=np.int64)
        position -= 1
        return np.flatnonzero(there), position[values]
    found = pa.array(values).dictionary_encode()
    distinct = found.dictionary.to_numpy()
    order = np.argsort(distinct)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[found.indices.to_numpy()]
