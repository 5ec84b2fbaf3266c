"""The verb `watch`: polls clusters and keeps, tells and exports how their groups share their queues.

`polling.Watch` is the core. It does no I/O and knows no clock: it is told what was read and when. `world` has the
clock, the threads that read and the signals; snapshots, terminal and Prometheus are listeners.
"""
