"""A self-contained HTML page: everything it needs is inside, and nothing from data or a model can run in it.

Templates escape every value, and known keys are struck out of it before. The page's own script is the only one its
policy allows (by hash), and it can ask for nothing from any network.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from amemgym.report.wording import FILTERS
from amemgym.secrets import redact

FOLDER = Path(__file__).parent / "templates"
#: every page's: the switch between light and dark, and what a printed page needs
COMMON = "page.js"


def render(template: str, script: str | Sequence[str] | None = None, **fields: Any) -> str:
    """The page made of a template that extends base.html, and of our scripts (file names), which share one scope."""
    names = [COMMON, *([script] if isinstance(script, str) else script or [])]
    parts = [(FOLDER / name).read_text(encoding="utf-8") for name in names]
    text = "\n".join(['(() => {\n"use strict";', *parts, "})();\n"])
    hashed = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return str(_environment().get_template(template).render(script=text, allowed_script=f"'sha256-{hashed}'", **fields))


@lru_cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # only a report needs it

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # before a value is escaped, since a key that holds & or < would not be found afterwards
        finalize=lambda value: redact(value) if isinstance(value, str) else value,
    )
    environment.filters.update(FILTERS)
    return environment
