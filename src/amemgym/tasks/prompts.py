"""The words of every request, as template files: one folder a language, one file a template.

Templates use `$name`; what is filled in is never searched for placeholders, so braces and dollars in any text are safe.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from string import Template

from amemgym.errors import UnknownName
from amemgym.messages import Message

FOLDER = Path(__file__).parent / "templates"


class Prompts:
    """The templates of one language."""

    def __init__(self, language: str = "en") -> None:
        self.language = language
        files = sorted((FOLDER / language).glob("*.txt")) if language in languages() else []
        if not files:
            raise UnknownName("prompt language", language, languages())
        self._texts = {file.stem: file.read_text(encoding="utf-8").rstrip("\n") for file in files}
        self._parts = {name: _parts(text) for name, text in self._texts.items()}
        self._alone: dict[str, Message] = {}

    def fill(self, template: str, **fields: object) -> str:
        """The template with its fields; a missing field is a KeyError (a bug here, not bad input)."""
        return "".join([str(fields[part]) if named else part for part, named in self._parts[template]])

    def system(self, template: str) -> Message:
        """A template without fields as a system message: one object, as it stands in request after request."""
        if template not in self._alone:
            self._alone[template] = Message("system", self.fill(template))
        return self._alone[template]

    def hashes(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """sha256 of each template, or of those named, for a manifest."""
        texts = self._texts if names is None else {name: self._texts[name] for name in sorted(names)}
        return {name: hashlib.sha256(text.encode("utf-8")).hexdigest() for name, text in texts.items()}


def _parts(text: str) -> tuple[tuple[str, bool], ...]:
    """A template cut up once: what stands in it, and the names of its fields, in order."""
    parts: list[tuple[str, bool]] = []
    at = 0
    for match in Template.pattern.finditer(text):
        parts.append((text[at : match.start()], False))
        at = match.end()
        if match["escaped"] is not None:
            parts.append(("$", False))
        elif name := match["named"] or match["braced"]:
            parts.append((name, True))
        else:
            raise ValueError(f"a lone $ in a template, at {match.start()}")
    return tuple([part for part in [*parts, (text[at:], False)] if part[0]])


def languages() -> list[str]:
    """The languages there are prompts for."""
    return sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())


@lru_cache
def prompts_for(language: str) -> Prompts:
    """The templates of a language, read once. Raises UnknownName."""
    return Prompts(language)
