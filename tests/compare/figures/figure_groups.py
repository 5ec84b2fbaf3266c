"""Random groups for the tests of figures, and their rows as tables."""

import pyarrow as pa
from hypothesis import strategies as st

from compare.figures import GroupLoads
from compare.figures.parquet_files import parquet_files
from compare.figures.parts import Part, pairs

WEIGHTS = {
    "ones": st.just(1),
    "lags": st.integers(0, 1000) | st.sampled_from([0, 2**31, 2**40, 2**57]),
    "rates": st.floats(0, 1e6, allow_nan=False) | st.sampled_from([0.0, 0.5, 1e-6]),
}


@st.composite
def groups(draw: st.DrawFn, weights: str = "ones") -> GroupLoads:
    """A group of up to 6 members and up to 3 topics; queues have no owner, one, or several."""
    members = draw(st.integers(0, 6))
    owners = st.lists(st.integers(0, members - 1), max_size=3, unique=True) if members else st.just([])
    rows = [
        (topic, number, tuple(draw(owners)), draw(WEIGHTS[weights]))
        for topic in ("A", "B", "Ж")
        for number in range(draw(st.integers(0, 5)))
    ]
    return GroupLoads(members, rows)


def tables(listed: list[GroupLoads], first_number: int = 60) -> tuple[pa.Table, pa.Table]:
    """Ownership and members as tables; queue numbers lie around a multiple of 64, on two brokers."""
    ownership = [
        {
            "run": at // 2,
            "group": f"group {at % 2}",
            "topic": topic,
            "broker": f"broker-{number % 2}",
            "queue": first_number + number,
            "owner": None if owner is None else f"member {owner}",
            "weight": weight,
        }
        for at, group in enumerate(listed)
        for topic, number, owners, weight in group.rows
        for owner in owners or (None,)
    ]
    members = [
        {"run": at // 2, "group": f"group {at % 2}", "member": None if member is None else f"member {member}"}
        for at, group in enumerate(listed)
        for member in range(group.members) or (None,)
    ]
    weight = pa.float64() if any(isinstance(row["weight"], float) for row in ownership) else pa.int64()
    texts = [(name, pa.string()) for name in ("group", "topic", "broker")]
    schema = pa.schema([("run", pa.int64()), *texts, ("queue", pa.int32()), ("owner", pa.string()), ("weight", weight)])
    return pa.Table.from_pylist(ownership, schema), pa.Table.from_pylist(
        members, pa.schema([("run", pa.int64()), ("group", pa.string()), ("member", pa.string())])
    )


def recognised(ownership: str, members: str) -> list[Part] | None:
    """The pairs of files, if those of both paths belong to one snapshot."""
    owned, listed = parquet_files(ownership), parquet_files(members)
    return None if owned is None or listed is None else pairs(owned, listed)
