"""A notebook as a page: its texts as they are, code with colours, below it what the cell put out."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

RICHEST = ("text/html", "image/svg+xml", "image/png", "text/plain")
"""Forms of an output; the first that it has is shown."""


UP: Mapping[str, str] = {"en": "../", "zh": "../../"}
"""The way from a notebook's page to the site's first, by the notebook's language."""

HEAD: Mapping[str, str] = {
    "en": "[The notebook itself]({name}) runs in [Jupyter](README.md).",
    "zh": "[笔记本文件]({name})可以在 [Jupyter](../README.md) 中运行。",
}
"""Below the title, by language."""

LIVE = '<p class="live" data-base="{up}playground/" hidden></p>\n<script src="{up}assets/live.js" defer></script>'
"""Where the button that makes the cells live comes to be."""

ANOTHER = re.compile(r"(?<=\]\()([\w-]+)\.ipynb(?=\))")
"""A link to a notebook in the same folder."""


def as_markdown(notebook: Mapping[str, Any], name: str, live: bool = False, language: str = "en") -> str:
    """The Markdown of the page; ``name``: of the notebook's file, which lies beside the page; ``live``: its cells can
    be run there."""
    parts = []
    for cell in notebook["cells"]:
        source = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(_for_the_site(source))
        elif cell["cell_type"] == "code":
            parts.append(f'<div class="cell" markdown>\n\n```` python\n{source}\n````\n\n</div>')
            parts += [f'<div class="output">\n{shown}\n</div>' for shown in _outputs(cell["outputs"])]
    first, _, rest = "\n\n".join(parts).partition("\n")
    head = [first, HEAD[language].format(name=name), *([LIVE.format(up=UP[language])] if live else [])]
    return "\n\n".join(head) + f"\n{rest}\n"


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _outputs(outputs: list[Mapping[str, Any]]) -> Iterator[str]:
    for output in outputs:
        if output["output_type"] == "stream":
            yield _plain(_text(output["text"]))
        elif output["output_type"] == "error":
            yield _plain("\n".join(output["traceback"]))
        else:
            data = output["data"]
            form = next(form for form in RICHEST if form in data)
            yield _shown(form, _text(data[form]))


def _shown(form: str, content: str) -> str:
    if form == "text/plain":
        return _plain(content)
    if form == "image/png":
        return f'<img alt="" src="data:image/png;base64,{content.strip()}">'
    return f'<div class="picture">{content.strip()}</div>' if form == "image/svg+xml" else content


def _plain(text: str) -> str:
    return "<pre>" + escape(text.rstrip("\n"), quote=False) + "</pre>"


def _for_the_site(source: str) -> str:
    """A text with what the site's Markdown wants: other notebooks' pages, words in folded parts that are Markdown."""
    return _with_own_lists(ANOTHER.sub(r"\1.md", source).replace("<details>", "<details markdown>"))


def _with_own_lists(source: str) -> str:
    """Jupyter's Markdown begins a list right below a paragraph; that of the site wants an empty line before it."""
    lines: list[str] = []
    fenced = False
    for line in source.split("\n"):
        begins = re.match(r"([-*]|\d+\.) ", line) or line.startswith("|")
        before = lines[-1] if lines else ""
        goes_on = re.match(r"\s*([-*]|\d+\.) |\||  ", before)
        if begins and before and not goes_on and not fenced:
            lines.append("")
        fenced ^= line.startswith("```")
        lines.append(line)
    return "\n".join(lines)
