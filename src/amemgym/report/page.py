"""A self-contained HTML page: everything it needs is inside, and nothing from data or a model can run in it.

Templates escape every value. The page's own script is the only one its policy allows (by hash), and it can ask for
nothing from any network.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "templates"


def render(template: str, script: str | None = None, **fields: Any) -> str:
    """The page made of a template that extends base.html, and of one of our scripts (a file name), if any."""
    text = (FOLDER / script).read_text(encoding="utf-8") if script else ""
    hashed = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    allowed = f"'sha256-{hashed}'" if script else "'none'"
    return str(_environment().get_template(template).render(script=text, allowed_script=allowed, **fields))


@lru_cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # only a report needs it

    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
