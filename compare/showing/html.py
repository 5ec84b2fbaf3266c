"""What every report needs to be one file: its assets, a template that does no harm to names, data beside the script.

Names of groups and topics come from clusters and may hold anything; they reach a page as data or as escaped text,
never as markup. A report fetches nothing, so that it can be mailed and kept. Scripts compute no figure: they draw
what the document says.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from compare.formatting import visible

_ASSETS = files(__package__) / "assets"


def asset(name: str) -> str:
    """The text of an asset: of all pages (``style.css``), or of one (``audit/list.js``)."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def script_of(texts: Sequence[str]) -> str:
    """Several scripts as one that leaves no names behind."""
    return '"use strict";\n(() => {\n' + "\n".join(texts) + "})();\n"


def page(name: str, payload: object, scripts: Sequence[str] = (), labels: str = "", **more: object) -> str:
    """The page ``name``: its template ``NAME/page.html``, which extends ``frame.html``, its style sheet
    ``NAME/NAME.css`` where it has one, with ``labels`` behind it, and its scripts in this order. The frame's
    ``style``, ``script``, ``style_hash``, ``script_hash`` (for its content security policy) and ``data`` stand as they
    are; what else the template is given reaches it through {{ }} only: hidden characters are made visible, markup is
    disarmed."""
    own = f"{name}/{name}.css"
    style = asset("style.css") + (asset(own) if (_ASSETS / own).is_file() else "") + labels
    script = script_of([asset("dom.js"), *(asset(f"{name}/{part}") for part in scripts)] if scripts else [])
    environment = Environment(
        loader=DictLoader({"frame.html": asset("frame.html")}),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(asset(f"{name}/page.html")).render(
        style=Markup(style),
        script=Markup(script),
        style_hash=Markup(_hash(style)),
        script_hash=Markup(_hash(script)),
        data=Markup(data_of(payload)),
        **more,
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _finalize(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def data_of(payload: object) -> str:
    """The payload as JSON that may stand inside a script element."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Inside a script element only these could end the data or open a comment.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
