"""Reports and pictures for the site: of every example scenario, and of the audit of the captured groups.

They are made once: what was made is kept below ``build/site-cache`` under a name that follows from the scenario and
from all our code, so that a second build takes what the first one made. Several processes share the work.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from compare.auditing.group_figures import judge
from compare.explaining.audited import document as audit_document
from compare.explaining.diagnosis import explain_all
from compare.explaining.document import document
from compare.process_pool import process_pool
from compare.reading.gather import gather
from compare.running.run_variant import run_variant
from compare.running.runs import RunOrder, run_all
from compare.running.systems import read
from compare.running.variants import Variant, variants_of
from compare.showing.audit.page import write_report
from compare.showing.comparison.page import write_comparison
from compare.showing.pictures import timeline

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build" / "site-cache"
SCENARIOS = ROOT / "examples" / "scenarios"
CAPTURES = ROOT / "examples" / "captures"
CODE = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare", "tools/site/reports.py")

MOST_PICTURED = 40
"""Queues of a variant that a picture shows; of a scenario with more there is none, its report draws them."""

Files = Mapping[str, str]
"""Path on the site to text."""


def example_files(names: Iterable[str]) -> dict[str, str]:
    """``reports/NAME.html`` and ``pictures/NAME-kafka.svg``, ``pictures/NAME-rocketmq.svg`` (where there is one)."""
    return _kept({name: (SCENARIOS / f"{name}.yaml", of_scenario) for name in names})


def audit_files() -> dict[str, str]:
    """``reports/audit.html``: the audit of ``examples/captures``."""
    return _kept({"audit": (CAPTURES, of_audit)})


def of_scenario(path: Path) -> dict[str, str]:
    """The report of a scenario, and a picture for the first variant of each system."""
    scenario = read(path)
    variants = variants_of(scenario, ())
    orders = [RunOrder(variant, whole=True, with_chart_data=True) for variant in variants]
    runs = list(run_all(orders, lambda _: None, processes=1))
    page = write_comparison([(scenario, runs, document(scenario, runs))])
    files = {f"reports/{path.stem}.html": _with_way_back(page, f"../examples.html#{path.stem}")}
    first: dict[str, Variant] = {}
    for variant in variants:
        first.setdefault(variant.part.system.partition(":")[0], variant)
    for system, variant in first.items():
        result = run_variant(variant)
        if len({belief.queue for belief in result.timeline.beliefs}) <= MOST_PICTURED:
            files[f"pictures/{path.stem}-{system}.svg"] = timeline(result).svg
    return files


def of_audit(folder: Path) -> dict[str, str]:
    """The report of an audit."""
    gathered = gather([str(folder)])
    explained = explain_all(judge(gathered.groups), None)
    page = write_report({**audit_document(explained, gathered.skipped, pictures=True), "weight": None})
    page = page.replace(f"{ROOT}/", "")
    return {"reports/audit.html": _with_way_back(page, "../gallery.html")}


def _with_way_back(page: str, to: str) -> str:
    """The report with its brand leading to the documentation."""
    brand = '<p class="brand">Equipoise'
    assert page.count(brand) == 1
    return page.replace(brand, f'<p class="brand"><a href="{to}">Equipoise</a>')


def _kept(wanted: Mapping[str, tuple[Path, Callable[[Path], Files]]]) -> dict[str, str]:
    """The files of all, from the cache where they are there, else made and put there."""
    found: dict[str, str] = {}
    missing = {}
    for name, (path, make) in wanted.items():
        place = CACHE / f"{name}-{_key(path)}"
        if place.is_dir():
            found.update((str(file.relative_to(place)), file.read_text(encoding="utf-8")) for file in _files(place))
        else:
            missing[name] = place, path, make
    workers = min(os.cpu_count() or 1, len(missing))
    if workers:
        with process_pool(workers) as pool:
            coming = {name: pool.submit(make, path) for name, (_, path, make) in missing.items()}
            for name, (place, _, _) in missing.items():
                files = coming[name].result()
                _keep(name, place, files)
                found.update(files)
    return found


def _keep(name: str, place: Path, files: Files) -> None:
    """Put the files there, whole or not at all, in the place of those that older code made."""
    new = place.with_suffix(f".{os.getpid()}")
    for path, text in files.items():
        (new / path).parent.mkdir(parents=True, exist_ok=True)
        (new / path).write_text(text, encoding="utf-8")
    for old in CACHE.glob(f"{name}-{'[0-9a-f]' * KEY}"):
        if old != place:
            _remove(old)
    new.rename(place)


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


KEY = 16
"""Digits of a key."""


def _key(path: Path) -> str:
    """What the files made of this path follow from: its content and our code."""
    digest = hashlib.sha256(_code())
    for file in _files(path) if path.is_dir() else [path]:
        digest.update(str(file.relative_to(path.parent)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:KEY]


@cache
def _code() -> bytes:
    digest = hashlib.sha256()
    for package in CODE:
        for path in _files(ROOT / package) or [ROOT / package]:
            if "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.digest()
