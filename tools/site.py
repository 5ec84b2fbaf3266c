"""What mkdocs does besides: pages may link to files outside of docs, which come with the site.

On GitHub and in an editor such a link goes to the file; here the file is copied (Markdown becomes a page of its own)
and the link follows it. A link to something that is not there is left alone, so that a strict build fails on it.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

OUTSIDE = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every file that some page links to."""
    for page in list(files.documentation_pages()):
        for path in _outside(page.content_string, page.src_uri, config):
            if files.get_file_from_path(path) is None:
                files.append(File.generated(config, path, abs_src_path=str(_root(config) / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links go where the files are on the site."""
    depth = page.file.src_uri.count("/")

    def inside(found: re.Match[str]) -> str:
        path = found["path"]
        if found["up"].count("../") != depth + 1 or files.get_file_from_path(path) is None:
            return found[0]
        return f"]({'../' * depth}{path}{found['anchor'] or ''})"

    return OUTSIDE.sub(inside, markdown)


def _outside(text: str, src_uri: str, config: MkDocsConfig) -> list[str]:
    """Files outside of docs to which a page links, from the root of the repository."""
    depth = src_uri.count("/")
    paths: dict[str, Any] = dict.fromkeys(
        found["path"] for found in OUTSIDE.finditer(text) if found["up"].count("../") == depth + 1
    )
    return [path for path in paths if (_root(config) / path).is_file()]


def _root(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent
