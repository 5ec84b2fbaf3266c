"""Which packages are ours, and how a module or a folder is known to be one of them."""

from importlib.machinery import ModuleSpec
from pathlib import Path

DOOR = "equipoise"
"""The package through which our packages are found; it is called as the distribution, so that nobody else has it."""

PACKAGES = frozenset({"compare", "kafka_coordinator", "protocols", "rocketmq_selfbalance"})

HOME = Path(__file__).parent.parent
"""Where they are installed: side by side, also in a working copy."""


def is_ours(spec: ModuleSpec | None) -> bool:
    """Whether it is one of our packages, of this installation or of another one, whatever its name."""
    if spec is None or spec.origin is None:
        return False
    file = Path(spec.origin)
    return file.name == "__init__.py" and file.parent.name in PACKAGES and is_a_home(file.parent.parent)


def is_a_home(folder: Path) -> bool:
    """Whether our packages are installed there: the door is beside them."""
    return (folder / DOOR / Path(__file__).name).is_file()
