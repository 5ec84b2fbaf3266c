"""The pages that list the notebooks, in English and in Chinese."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tools.site.translations import NOTEBOOKS, in_chinese

ABOUT: Mapping[str, Sequence[str]] = {
    "en": (
        "# Notebooks",
        "The notebooks are nine lessons and a workshop. They contain their outputs, so they can be read"
        " without an installation. To run one, its file and an install with the extra `notebooks` are enough."
        " They are also there [in Chinese](zh/notebooks.md).",
        "[How to run them](../notebooks/README.md): on this site in the browser (a button on each page), in Jupyter,"
        " on Binder, in Colab or JupyterLite.",
        "Each asks for a prediction first. The answer is folded with HTML's `<details>`, because programs that show"
        " notebooks read what a cell's metadata says about folding differently, or ignore it. `python -m tools.pages`"
        " generates this page.",
    ),
    "zh": (
        "# 笔记本",
        "这些笔记本是九课和一次实践课。它们包含运行的输出，所以不必安装就能阅读。要运行其中一个，只需要它的文件和带"
        " `notebooks` 附加依赖的安装。[英文版](../notebooks.md)里的代码和输出与此相同（输出是英文的）；`python -m"
        " tools.site.translations 目录` 把中文笔记本写到一个目录里。",
        "[运行的方法](../../notebooks/README.md)：在本网站的浏览器页面里（每页有一个按钮），在 Jupyter、Binder、Colab"
        " 或 JupyterLite 中。",
        "每一课都先请你作出预测。答案用 HTML 的 `<details>` 折叠，因为显示笔记本的程序对单元格元数据里的折叠设置理解"
        "不一，或者不予理会。本页由 `python -m tools.pages` 生成。",
    ),
}
"""Title and first paragraphs of the page, by language."""

BETWEEN: Mapping[str, str] = {"en": ": ", "zh": "。"}


def notebook_list(language: str) -> str:
    """The notebooks, each with the first paragraph of what it wants; in Chinese with links to their texts, which are
    pages with code and outputs on the site."""
    items = []
    for path in sorted(NOTEBOOKS.glob("*.ipynb"), key=lambda path: int(path.name.partition("-")[0])):
        notebook = in_chinese(path.stem) if language == "zh" else json.loads(path.read_text(encoding="utf-8"))
        where = f"../../notebooks/zh/{path.stem}.md" if language == "zh" else f"../notebooks/{path.name}"
        title, text = _beginning(notebook)
        items.append(f"- [{title}]({where}){BETWEEN[language]}{text}")
    return "\n\n".join([*ABOUT[language], "\n".join(items)]) + "\n"


def _beginning(notebook: Mapping[str, Any]) -> tuple[str, str]:
    """Title and first paragraph of a notebook."""
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    heading, _, rest = "".join(first["source"]).partition("\n")
    return heading.lstrip("# "), " ".join(rest.strip().split("\n\n")[0].split())
