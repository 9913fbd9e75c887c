"""The way back from what a report writes: what its script and a reader of its CSV do."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any


def unpack(packed: str) -> Any:
    """What `pack` was given."""
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def unguarded(text: str) -> str:
    """What `guarded` was given: without the apostrophe that was put before what a spreadsheet takes for a formula."""
    return text[1:] if re.match(r"'+[=+\-@\t\r]", text) else text
