"""The sizes of all frames that a scenario's cluster sends, of clients with queues and of those without."""

from rocketmq_selfbalance import frame_sizes
from rocketmq_selfbalance.popping import frame_sizes as of_pop

SIZES = {**frame_sizes.SIZES, **of_pop.SIZES}
REQUESTS = frame_sizes.REQUESTS | of_pop.REQUESTS
