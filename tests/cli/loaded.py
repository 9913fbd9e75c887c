"""What a process loads that plays and reports a run, loaded once: `WarmProcess` forks from a server that imports this.
Loading changes nothing that a command prints or writes; a process of the console script loads it all by itself."""

from __future__ import annotations

import aiohttp  # noqa: F401
import pyarrow  # noqa: F401
import scipy.special  # noqa: F401

import amemgym.cli.main
import amemgym.llm.offline  # noqa: F401
from amemgym.llm.embed import embedder
from amemgym.report.page import FOLDER, _environment

embedder()
for page in FOLDER.glob("*.html"):
    _environment().get_template(page.name)
