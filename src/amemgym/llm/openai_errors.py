"""How an endpoint's refusal becomes one of the named errors: by its status and its words, which makers choose freely.

What the endpoint wrote is quoted in the error, with keys struck out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from amemgym.errors import (
    AuthenticationFailed,
    ContentFiltered,
    ContextOverflow,
    EndpointUnavailable,
    ModelError,
    QuotaExhausted,
    RequestRefused,
)
from amemgym.llm.transport import Answer
from amemgym.secrets import redact

RETRIED_STATUSES = (408, 409, 425, 429)
#: parameters a run can do without: prompts that want JSON say so in words as well
OPTIONAL_PARAMETERS = ("max_tokens", "max_completion_tokens", "temperature", "response_format")

#: characters of what an endpoint says that are looked at; a pattern may take the square of it
_LOOKED_AT = 10_000

_OVERFLOW = re.compile(
    r"context[ _]length|maximum context|context window|context size|too many tokens|(prompt|input) is too long"
    r"|maximum prompt length|input token count.*exceeds|exceeds the maximum allowed length",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content[ _](filter|management|policy)|responsible ai|safety system|was flagged|content exists risk|usage policy",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[ _](quota|funds|balance|credits)|exceeded your current quota|billing[ _](details|hard)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Asked:
    """Whom a refusal comes from, for its sentence: the endpoint, the model, and where its key is from (or would be)."""

    where: str
    model: str
    key_name: str
    has_key: bool


@dataclass(frozen=True)
class Refusal:
    """What an endpoint says instead of a completion. `retry_after` is in seconds, None where it asks for no wait."""

    status: int
    message: str
    code: str = ""
    parameter: str = ""
    retry_after: float | None = None
    location: str = ""

    @classmethod
    def of(cls, answer: Answer) -> Refusal:
        """Read an answer whose status is not a good one."""
        text = answer.body.decode("utf-8", "replace")
        said = _said(text)
        return cls(
            answer.status,
            str(said.get("message") or text or "no reason given"),
            f"{said.get('code') or ''} {said.get('type') or ''}",
            str(said.get("param") or ""),
            _retry_after(answer.headers),
            answer.headers.get("location", "").partition("?")[0],
        )

    @property
    def text(self) -> str:
        return f"{self.code[:_LOOKED_AT]} {self.message[:_LOOKED_AT]}"

    def refuses(self, sent: Mapping[str, Any]) -> str | None:
        """The parameter that it refuses, of those sent that we can do without."""
        if self.status not in (400, 422) or _OVERFLOW.search(self.text):
            return None
        candidates = [name for name in OPTIONAL_PARAMETERS if name in sent]
        named = self.parameter.split(".")[0]
        if named in candidates:
            return named
        return next((name for name in candidates if re.search(rf"\b{name}\b", self.message)), None)

    def error(self, asked: Asked) -> ModelError:
        """The named error that it is."""
        status, text = self.status, self.text
        said = f"{asked.where} says {status}: {_quoted(self.message)}"
        if status in (401, 403) and not _FILTER.search(text):
            verb = "set" if asked.key_name.isupper() else "give one in"
            way = f"Check the key in {asked.key_name}, and that it may use {asked.model}."
            way = way if asked.has_key else f"No key was given: {verb} {asked.key_name}."
            return AuthenticationFailed(f"{said} {way}")
        # then it passes, whatever the text links to
        limited = "rate_limit" in self.code or self.retry_after is not None
        if (
            status == 402
            or (status == 429 and "insufficient_quota" in self.code)
            or (status == 429 and _QUOTA.search(text) and not limited)
        ):
            return QuotaExhausted(f"{said} The account's quota is used up; add to it, then resume.")
        if status in RETRIED_STATUSES or status >= 500:
            return EndpointUnavailable(said, self.retry_after, self.status)
        if status == 413 or (status in (400, 422) and _OVERFLOW.search(text)):
            return ContextOverflow(f"{said} The request does not fit {asked.model}'s context.")
        if _FILTER.search(text):
            return ContentFiltered(f"{said} The provider's content filter stopped the request.")
        advice = "The endpoint refuses the request."
        if status == 404:
            advice = f"Check the model name '{asked.model}' and that the base URL ends in /v1."
        if 300 <= status < 400:
            to = f" to {_quoted(self.location)[:-1]}" if self.location else ""
            advice = f"It redirects{to}, which is not followed; give the base URL it redirects to."
        return RequestRefused(f"{said} {advice}")


def _said(text: str) -> Mapping[str, Any]:
    """The error that a body holds, in OpenAI's form or nearly."""
    try:
        body = json.loads(text)
        if isinstance(body, dict):
            inner = body.get("error", body)
            said = inner if isinstance(inner, dict) else {"message": inner if isinstance(inner, str) else ""}
            str(said)  # what nests too deep to be shown is quoted as it came
            return said
    except (ValueError, RecursionError):
        pass
    return {}


def _quoted(message: str) -> str:
    """What the server said, in one line with a full stop, shortened, without keys."""
    line = " ".join(redact(message)[:_LOOKED_AT].split())
    return (line[:300] + "…" if len(line) > 300 else line).rstrip(".") + "."


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait the server asks for, in seconds, or None."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (TypeError, ValueError, OverflowError):
        return None
