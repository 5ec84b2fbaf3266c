"""Scripts of other projects that come with the site: `python -m tools.site.vendor` fetches them with npm and pip.

They are kept below ``build/vendor``, each version once, and never committed. Where npm is missing, or nothing can be
fetched, the site is built without what needs them, and one line says so.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "vendor"

NPM = {
    "pyodide@314.0.7": ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"),
    "mermaid@12.3.0": ("dist/mermaid.min.js",),
}
"""npm packages to the files that are taken from them: Python for the browser, and diagrams that are written as text."""

PYODIDE, MERMAID = (FOLDER / name for name in NPM)

WHEEL = "pydantic-core"
"""The only package of ours with compiled code that is needed in the browser; its version is that of constraints.txt."""
PYTHON, PLATFORM = "3.14", "pyemscripten_2026_0_wasm32"
"""What this Pyodide is to pip."""


def fetched(folder: Path) -> bool:
    """Whether the files of a package are there, all of them."""
    return folder.is_dir()


def wheel() -> Path | None:
    """The wheel for the browser, None where it was not fetched."""
    return next(iter(sorted(FOLDER.glob(f"{WHEEL.replace('-', '_')}-{_pinned()}-*{PLATFORM}.whl"))), None)


def fetch() -> list[str]:
    """Fetch what is missing; a line for each thing that could not be had."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    missing = [name for name in NPM if not fetched(FOLDER / name)]
    problems = []
    if missing and shutil.which("npm") is None:
        problems.append("npm is not on PATH: the site comes without the playground and without Mermaid diagrams")
    else:
        problems += [f"{name} could not be fetched: {why}" for name in missing if (why := _from_npm(name))]
    if wheel() is None and (why := _from_pip()):
        problems.append(f"{WHEEL} for the browser could not be fetched: {why}; the site comes without the playground")
    return problems


def _from_npm(name: str) -> str:
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        failed = _run(["npm", "pack", "--silent", "--fetch-retries=0", "--pack-destination", scratch, name])
        packed = list(Path(scratch).glob("*.tgz"))
        if failed or not packed:
            return failed or "npm wrote no file"
        place = Path(scratch) / "files"
        with tarfile.open(packed[0]) as archive:
            for file in NPM[name]:
                member = archive.extractfile(f"package/{file}")
                assert member is not None, f"{name} has no {file}"
                place.mkdir(exist_ok=True)
                (place / Path(file).name).write_bytes(member.read())
        place.rename(FOLDER / name)
    return ""


def _from_pip() -> str:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", PYTHON]
    command += ["--abi", f"cp{PYTHON.replace('.', '')}", "--platform", PLATFORM]
    return _run([*command, "--dest", str(FOLDER), f"{WHEEL}=={_pinned()}"])


def _run(command: list[str]) -> str:
    """The last line of what it complains about where it fails, else nothing."""
    try:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "no answer within 300 s"
    return "" if done.returncode == 0 else (done.stderr.strip() or "failed").splitlines()[-1]


def _pinned() -> str:
    """The version in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{WHEEL}=="))


if __name__ == "__main__":
    for problem in fetch():
        print(f"docs: {problem}", file=sys.stderr)
