"""The notebooks' own modules are found from their folder, as Jupyter finds them."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))
