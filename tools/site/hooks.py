"""What mkdocs calls: files that are not in docs are added to the site, pages get what programs know.

The variable EQUIPOISE_SITE says how much is made: ``quick`` (reports of three scenarios, for tests) or, left out,
everything.
"""

import json
import logging
import os
from pathlib import Path
from typing import Any

import jieba
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from tools import four_events
from tools.site import diagrams, examples, gallery, home, playground, reports, steps, vendor
from tools.site.notebooks import as_markdown
from tools.site.sources import LANGUAGES, LARGEST, outside, page_of, relinked, shown
from tools.site.translations import translated

QUICK = ("eager-and-cooperative", "four-members-two-topics", "two-owners-at-a-join")
ON_SPARK = ("8-a-million-groups",)
"""Notebooks that no browser can run."""
CHINESE = ("zh/", "notebooks/zh/")
"""Folders whose pages are in Chinese."""
BOOSTS = {
    "spec/": 0.3,
    "decisions/": 0.5,
    "examples/": 0.1,
    "notebooks/": 0.8,
    "start.md": 3.0,
    "lessons-": 2.0,
    "side-by-side.md": 2.0,
}
"""How much a page counts in a search, by how its path begins: what explains comes before what specifies."""
SHIM = "assets/iframe-worker.js"
MERMAID = "assets/mermaid.min.js"
REACHABLE = """{
  const parts = document.querySelectorAll(".md-typeset :is(table, code, p, .picture)");
  addEventListener("load", () => parts.forEach((part) => {
    if (part.scrollWidth > part.clientWidth && getComputedStyle(part).overflowX === "auto") part.tabIndex = 0;
  }));
}"""
"""What scrolls can be reached by keyboard, so that the arrow keys scroll it."""

_made: dict[str, str] = {}
"""Reports and pictures of this build."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Nothing may be fetched: the search's stand-in for a worker is ours, Mermaid is the one that npm brought."""
    config.extra["polyfills"] = [SHIM]
    jieba.setLogLevel(logging.WARNING)
    if not vendor.fetched(vendor.MERMAID):
        fences = config.mdx_configs["pymdownx.superfences"]
        fences["custom_fences"] = [fence for fence in fences["custom_fences"] if fence["name"] != "mermaid"]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add reports, pictures, notebooks, the playground, and every file that some page links to."""
    _made.clear()
    quick = os.environ.get("EQUIPOISE_SITE") == "quick"
    _made.update(reports.example_files(QUICK if quick else examples.names()))
    _made.update(reports.audit_files())
    _made.update(diagrams.pictures())
    for path, text in _made.items():
        _add(files, config, path, text)
    assets = Path(__file__).parent / "assets"
    _add(files, config, SHIM, (assets / "iframe-worker.js").read_text(encoding="utf-8"))
    for name in ("site.css", "live.js", "slides.js"):
        _add(files, config, f"assets/{name}", (assets / name).read_text(encoding="utf-8"))
    if vendor.fetched(vendor.MERMAID):
        _add(files, config, MERMAID, (vendor.MERMAID / "mermaid.min.js").read_bytes())
    for path, content in playground.files().items():
        _add(files, config, path, content)
    # Before the links are followed: one to the texts leads to the page with the outputs.
    for path, notebook in translated().items():
        _add(files, config, path, json.dumps(notebook, ensure_ascii=False, indent=1))
        _add(files, config, page_of(path), as_markdown(notebook, Path(path).name, _live(Path(path)), "zh"))
    for page in list(files.documentation_pages()):
        for path in outside(page.content_string, page.src_uri, _root(config)):
            _add_outside(files, config, path)
    # What the site itself adds links to more.
    for path in [*_code_of_examples(), *(str(each) for each in _notebooks(config))]:
        _add_outside(files, config, path)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links go where the files are on the site, and put in what is made for this page."""
    uri = page.file.src_uri
    counts = (boost for begin, boost in BOOSTS.items() if uri.removeprefix("zh/").startswith(begin))
    page.meta["search"] = {"boost": 0.1 if uri.endswith(".py.md") else next(counts, 1.0)}
    if uri == "examples.md":
        markdown = examples.sections(markdown, _made, playground.is_there())
    markdown = playground.with_way_in(markdown)
    if playground.is_there():
        markdown = four_events.with_links(markdown)
    markdown = home.with_timeline(gallery.with_cards(markdown, _made), _language(page))
    markdown = steps.with_steps(diagrams.with_machines(markdown))
    there = {file.src_uri for file in files}
    return relinked(markdown, uri, there)


def on_page_context(context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation) -> dict[str, Any]:
    """A page says its language, and the theme's own words are in it: a page is rendered before the next one's turn."""
    config.theme["language"] = _language(page)
    return context


def _language(page: Page) -> str:
    return "zh" if page.file.src_uri.startswith(CHINESE) else "en"


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """What a screen reader and a keyboard need and the theme lacks, and Mermaid's script where there is a diagram."""
    label = "搜索" if _language(page) == "zh" else "Search"
    output = output.replace('role="dialog"', f'role="dialog" aria-label="{label}"', 1)
    output = output.replace("</body>", f"<script>{REACHABLE}</script></body>")
    if 'class="mermaid"' not in output:
        return output
    up = "../" * page.url.count("/")
    return output.replace("</head>", f'<script src="{up}{MERMAID}"></script></head>')


def _add(files: Files, config: MkDocsConfig, path: str, content: str | bytes) -> None:
    if files.get_file_from_path(path) is None:
        files.append(File.generated(config, path, content=content))


def _add_outside(files: Files, config: MkDocsConfig, path: str) -> None:
    source = _root(config) / path
    ending = source.suffix
    if files.get_file_from_path(page_of(path)) is not None:
        return
    if ending == ".md":
        text = source.read_text(encoding="utf-8")
        _add(files, config, path, text)
        return
    files.append(File.generated(config, path, abs_src_path=str(source)))
    if ending == ".ipynb":
        notebook: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
        _add(files, config, page_of(path), as_markdown(notebook, source.name, _live(source)))
    elif ending in LANGUAGES:
        text = source.read_text(encoding="utf-8")
        if len(text) <= LARGEST:
            _add(files, config, page_of(path), shown(path, text))


def _live(notebook: Path) -> bool:
    return playground.is_there() and notebook.stem not in ON_SPARK


def _code_of_examples() -> list[str]:
    """Files to which the sections of the examples link."""
    found = dict.fromkeys(path for name in examples.names() for _, path in examples.sources(name))
    found.update(dict.fromkeys(path for name in examples.names() for _, path, _ in examples.proofs(name)))
    return list(found)


def _notebooks(config: MkDocsConfig) -> list[Path]:
    root = _root(config)
    return [path.relative_to(root) for path in sorted((root / "notebooks").glob("*.ipynb"))]


def _root(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent
