"""The playground: the engine in the browser, with Pyodide. `files` gives what the site needs for it.

Our packages and the libraries that they import are taken from where they are installed, and compiled for the browser's
Python (by that Python, in node), because reading and compiling them takes longer than running a scenario. The result
is kept below ``build/site-cache`` as long as nothing that goes into it changes.
"""

import hashlib
import importlib.util
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path

from compare.showing.html import asset, data_of
from tools.site import vendor

ROOT = Path(__file__).parents[2]
ASSETS = Path(__file__).parent / "assets" / "playground"
CACHE = ROOT / "build" / "site-cache"
SCENARIOS = ROOT / "examples" / "scenarios"

OURS = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare")
LIBRARIES = (
    "annotated_types",
    "click",
    "jinja2",
    "markupsafe",
    "networkx",
    "pydantic",
    "ruamel.yaml",
    "tabulate",
    "typing_extensions",
    "typing_inspection",
)
"""What our packages import without the extras; rich is not needed where nothing is printed."""
NOT_NEEDED = frozenset({"tests", "__pycache__"})
"""Folders that nobody enters in a browser."""
PYTHON_ONLY = frozenset({".py", ".js", ".json", ".css", ".html", ".tsv", ".typed"})
FIXED = (1980, 1, 1, 0, 0, 0)


def missing() -> str:
    """Why there is no playground; empty where everything is there."""
    if not vendor.fetched(vendor.PYODIDE) or vendor.wheel() is None:
        return "Pyodide is not there (python -m tools.site.vendor fetches it with npm)"
    return "" if shutil.which("node") else "node is not on PATH"


MARK = "<!-- the way into the playground -->"


def with_way_in(markdown: str) -> str:
    """The page with a link to the playground in the place of its mark, or why there is none."""
    why = missing()
    link = "[Open the playground](playground/index.html){ .md-button .md-button--primary }"
    return markdown.replace(MARK, f"This site was built without the playground: {why}." if why else link)


def is_there() -> bool:
    """Whether the site has a playground."""
    return not missing()


def files() -> dict[str, str | bytes]:
    """Path on the site to content; nothing where something is missing."""
    wheel = vendor.wheel()
    if missing() or wheel is None:
        return {}
    found: dict[str, str | bytes] = {
        "playground/index.html": _page(),
        "playground/engine.zip": _compiled(),
        "playground/pydantic_core.whl": wheel.read_bytes(),
    }
    for name in ("playground.js", "worker.js"):
        found[f"playground/{name}"] = (ASSETS / name).read_text(encoding="utf-8")
    for path in sorted(vendor.PYODIDE.iterdir()):
        found[f"playground/{path.name}"] = path.read_bytes()
    return found


def _page() -> str:
    examples = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SCENARIOS.glob("*.yaml"))}
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    style = asset("style.css")
    return page.replace("{{ style }}", style).replace("{{ examples }}", data_of(examples))


@cache
def _compiled() -> bytes:
    """The archive of all that Python imports there, compiled."""
    source = archive()
    script = ASSETS / "compile.mjs"
    key = hashlib.sha256(source + script.read_bytes() + vendor.PYODIDE.name.encode()).hexdigest()[:16]
    place = CACHE / f"engine-{key}.zip"
    if not place.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        given, made = CACHE / f"{key}.in", CACHE / f"{key}.out"
        given.write_bytes(source)
        done = subprocess.run(
            ["node", script, vendor.PYODIDE, given, made], capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"compiling for the browser failed: {done.stderr[-2000:]}")
        for old in CACHE.glob("engine-*.zip"):
            old.unlink()
        given.unlink()
        made.rename(place)
    return place.read_bytes()


def archive() -> bytes:
    """Our packages, the libraries and the bridge as a zip of sources; equal files give equal bytes."""
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name, path in sorted(_sources()):
            made.writestr(zipfile.ZipInfo(name, FIXED), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _sources() -> Iterator[tuple[str, Path]]:
    """Name inside of the archive, and the file."""
    yield "bridge.py", ASSETS / "bridge.py"
    for package in OURS:
        yield from _below(ROOT / package, package)
    for library in LIBRARIES:
        found = importlib.util.find_spec(library)
        assert found is not None
        assert found.origin is not None
        origin = Path(found.origin)
        name = library.replace(".", "/")
        if origin.name == "__init__.py":
            yield from _below(origin.parent, name)
        else:
            yield origin.name, origin


def _below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.suffix in PYTHON_ONLY and path.is_file() and not NOT_NEEDED.intersection(inside.parts):
            yield f"{name}/{inside.as_posix()}", path
