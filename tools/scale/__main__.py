"""`python -m tools.scale VARIANT MEMBERS...`: rows of such groups, computed anew and kept; `make pages` shows them."""

import json
import sys

from compare.sweeping.reading import read_text
from compare.sweeping.scale import FIGURES, scale_row
from tools.scale import KEPT, ROWS, minutes_of


def main() -> None:
    variant, *sizes = sys.argv[1:]
    order = [*dict.fromkeys(each["variant"] for each in ROWS), variant]
    for members in map(int, sizes):
        text = f"name: s\nkind: scale\nmembers: {members}\nsystems: [{variant}]\nfor: {minutes_of(variant)}min\n"
        sweep = read_text(text).sweep
        ran = scale_row(sweep, sweep.cell(0), sweep.systems[0])
        row = {name: None if (value := ran[name]) is None else round(value, 3) for name in FIGURES}
        ROWS[:] = [each for each in ROWS if (each["variant"], each["members"]) != (variant, members)]
        ROWS.append({"variant": variant, "members": members, **row})
    ROWS.sort(key=lambda each: (order.index(each["variant"]), each["members"]))
    KEPT.write_text("[\n" + ",\n".join(map(json.dumps, ROWS)) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
