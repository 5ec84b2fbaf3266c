"""A golden vector that passes, to be damaged."""

LINE = {
    "id": "one",
    "assignor": "client-range",
    "topics": {"t": 2},
    "members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}],
    "member_order": ["a", "b"],
    "expected": {"a": [["t", 0]], "b": [["t", 1]]},
}
