"""What the engines count from: ownership as numbers instead of names."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compare.measure.figures.last_step import Flags

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """What members own, of whole groups: groups, topics of groups and members are numbers from 0.

    Per group ``members``: how many it has. Per topic of a group (in any order) ``topic_group``: its group, and the
    counts ``queues``, ``unowned``, ``double_owned``. Per row, which says that a member owns queues of a topic:
    ``topic`` (number of the topic of a group), ``member`` (from 0 within the group), ``load`` (None: 1 each) and
    ``unknown`` (the load is not known; None: all are). Several rows may be about one member and topic; their loads
    add up. ``unit`` is the load of a queue of weight 1.
    """

    members: Numbers
    topic_group: Numbers
    queues: Numbers
    unowned: Numbers
    double_owned: Numbers
    topic: Numbers
    member: Numbers
    load: Numbers | None = None
    unknown: Flags | None = None
    unit: int = 1
