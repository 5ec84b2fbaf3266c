"""Scenarios: the cluster and its groups, the events in order of time, and the systems that run them.

| to read | files |
|---|---|
| what a scenario contains | `model`, `groups`, `fields`, `events` (one file per kind of event), `systems` |
| from YAML or Python | `reading`, `yaml_values`, `building`, `shorthands`, `validation`, `paths`, `units` |
| what is possible, in the order of time | `membership` (who is there), `checks` (everything else) |
| what follows from it | `topology` (members and processes), `process_peers`, `queue_names`, `queue_placement` |
| how a system runs one | `running`, `cluster`, `world` |
| back to text | `writing`, `reference`, `descriptions` |

`docs/scenario.md` is the reference.
"""
