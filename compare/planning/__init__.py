"""The verb `plan`: how a group gets from one way of sharing to another in steps, what each costs, and which orders go
wrong.

`subject` is the group as it is today (`real_groups`: as tools show it), `target` what is asked for. `routes` makes
the steps, `by_library` their settings in each client library, `expectations` what code must expect, `promises` what a
source is asked when a step is done. `simulating` turns a step into events of a scenario and runs it with many seeds,
`document` puts everything together.
"""
