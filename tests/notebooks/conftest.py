"""`execute.py` is found from the notebooks' folder."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))
