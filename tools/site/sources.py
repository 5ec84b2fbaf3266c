"""Files outside of docs that pages link to: on the site they are pages, so that a click shows them with colours.

On GitHub and in an editor such a link goes to the file. Markdown and notebooks become pages, so do other texts, which
lie beside a copy of the file itself; everything else is copied. A link to something that is not there is left alone,
so that a strict build fails on it.
"""

import posixpath
import re
from pathlib import Path

LINK = re.compile(r"\]\((?P<path>(?:\.\./)+[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")

LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".sh": "sh", ".json": "json"}
"""Endings of files that are shown as text, and what they are."""

LARGEST = 200_000
"""Characters; of a longer file only a copy comes with the site."""


def outside(text: str, page: str, root: Path) -> list[str]:
    """Files outside of docs to which a page links, as paths from the root of the repository."""
    found = (resolved(match["path"], page) for match in LINK.finditer(text))
    return list(dict.fromkeys(path for path in found if path is not None and (root / path).is_file()))


def resolved(link: str, page: str) -> str | None:
    """Where a link of a page of docs leads, from the root of the repository; None where it stays inside of docs.

    ``page``: its path within docs.
    """
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith(("docs/", "../")) else path


def page_of(path: str) -> str:
    """The page of the site on which this file is shown, or the copy of the file: its path within docs."""
    ending = posixpath.splitext(path)[1]
    if ending == ".ipynb":
        return path.removesuffix(ending) + ".md"
    return f"{path}.md" if ending in LANGUAGES else path


def shown(path: str, text: str) -> str:
    """The Markdown of the page that shows a text."""
    name = posixpath.basename(path)
    language = LANGUAGES[posixpath.splitext(path)[1]]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    body = text.rstrip("\n") or "# (empty)"
    return (
        f"---\ntitle: {name}\nhide: [navigation, toc]\nsearch: {{exclude: true}}\n---\n\n# {name}\n\n"
        f"`{path}` ([the file itself]({name}))\n\n"
        f'{fence} {{.{language} linenums="1"}}\n{body}\n{fence}\n'
    )


def relinked(markdown: str, page: str, there: set[str]) -> str:
    """The page with its links to files outside of docs leading to where they are on the site (``there``)."""

    def inside(found: re.Match[str]) -> str:
        path = resolved(found["path"], page)
        if path is None or page_of(path) not in there:
            return found[0]
        return f"]({posixpath.relpath(page_of(path), posixpath.dirname(page) or '.')}{found['anchor'] or ''})"

    return LINK.sub(inside, markdown)
