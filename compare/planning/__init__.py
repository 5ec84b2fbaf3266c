"""The verb `plan`: how a group gets from one way of sharing to another in steps, what each costs, and which orders go
wrong.

`subject` is the group as it is today and what is asked for. `routes` makes the steps, `simulating` turns a step into
events of a scenario and runs it with many seeds, `document` puts everything together.
"""
