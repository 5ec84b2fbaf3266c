"""The way of a group from one way of sharing to another: steps, what each costs, and the orders that go wrong.

`subject` is the group as it is today, `target` what is asked for. A module of `routes` makes the steps, `timetable`
turns a step into events of a scenario, `simulating` runs it with many seeds, `document` puts everything together.
"""
