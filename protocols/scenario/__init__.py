"""Scenarios: what there is, what happens when, and which systems live through it.

| to read | files |
|---|---|
| what a scenario holds | `model`, `groups`, `fields`, `events` (one file per kind of event), `systems` |
| from YAML or Python | `reading`, `yaml_values`, `building`, `shorthands`, `validation`, `paths`, `units` |
| what can be, in the order of time | `membership` (who is there), `checks` (everything else) |
| what follows from it | `topology` (members and processes), `process_peers`, `queue_names`, `queue_placement` |
| how a system runs one | `running`, `cluster`, `world` |
| back to text | `writing`, `reference`, `descriptions` |

`docs/scenario.md` is the reference.
"""
