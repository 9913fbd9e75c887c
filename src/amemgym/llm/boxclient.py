"""One POST to an assistant that is a black box: JSON there and back, and every way it can end as a named error."""

from __future__ import annotations

import json
from typing import Any

from pydantic import SecretStr

from amemgym.errors import AuthenticationFailed, EndpointUnavailable, ModelError, NotAnEndpoint, RequestRefused
from amemgym.llm import transport
from amemgym.llm.transport import Client, Unreachable
from amemgym.secrets import redact

#: statuses after which the same request may pass
PASSING = (408, 425, 429)
#: statuses of a server that has no such path or takes no POST there
NO_SUCH_CALL = (404, 405, 501)
PROTOCOL = "docs/http-agents.md"


class EpisodeUnknown(EndpointUnavailable):
    """409: the server does not have the conversation that is meant, so it has to be told it anew."""


class BoxClient:
    """The four calls of one address.

    Args:
        url: the address, without a slash at its end.
        api_key, key_name: the key, sent to this address alone, and where it comes from (or would).
        timeout: seconds without an answer after which a call counts as failed.
    """

    def __init__(self, url: str, api_key: SecretStr | None, key_name: str, timeout: float) -> None:
        self.url = url
        self._api_key = api_key
        self._key_name = key_name
        self._timeout = timeout
        headers = {"Authorization": f"Bearer {api_key.get_secret_value()}"} if api_key else {}
        self._client = Client(url, headers, timeout)

    async def post(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        """What the server answers to `call`. Raises a ModelError."""
        try:
            answer = await self._client.post(f"{self.url}/{call}", json.dumps(body).encode("ascii"))
        except TimeoutError as error:
            raise EndpointUnavailable(
                f"{self._where} did not answer /{call} within {self._timeout:g} s; --timeout gives it longer"
            ) from error
        except Unreachable as error:
            raise EndpointUnavailable(
                f"{self._where} cannot be reached ({error}); check that it runs and that the URL is right"
            ) from error
        raw = answer.body
        if not answer.is_good:
            raise self._refusal(call, answer.status, raw, answer.headers)
        if answer.is_too_long:
            raise self.wrong(call, f"is longer than {transport.LONGEST_ANSWER // 1_000_000} MB", raw)
        try:
            said = json.loads(raw)
        except (ValueError, RecursionError):
            raise self.wrong(call, "is no JSON", raw) from None
        if not isinstance(said, dict):
            raise self.wrong(call, "is no JSON object", raw)
        return said

    def wrong(self, call: str, what: str, answer: object) -> NotAnEndpoint:
        """The error of an answer that is not as it should be."""
        return NotAnEndpoint(
            f"{self._where}: its answer to /{call} {what} ({_excerpt(answer)!r}); how it should be stands in {PROTOCOL}"
        )

    async def aclose(self) -> None:
        await self._client.aclose()

    @property
    def _where(self) -> str:
        return f"the assistant at {self.url}"

    def _refusal(self, call: str, status: int, raw: bytes, headers: Any) -> ModelError:
        said = f"{self._where} says {status} to /{call}"
        if excerpt := _excerpt(raw):
            said += f" ({excerpt!r})"
        if status in (401, 403):
            way = f"check the key in {self._key_name}" if self._api_key else f"no key was given, set {self._key_name}"
            return AuthenticationFailed(f"{said}; {way}")
        if status == 409:
            return EpisodeUnknown(f"{said}: it does not know the episode, which it is told anew", status=status)
        if 300 <= status < 400:
            return RequestRefused(f"{said}: it redirects, which is not followed; give the address it redirects to")
        if status in NO_SUCH_CALL:
            return RequestRefused(f"{said}; check the URL, and that it answers POST /{call} as in {PROTOCOL}")
        if status in PASSING or status >= 500:
            return EndpointUnavailable(said, _retry_after(headers), status)
        return RequestRefused(f"{said}; how it is called stands in {PROTOCOL}")


def _excerpt(answer: object) -> str:
    """The beginning of what was answered, in one line, without keys."""
    text = answer[:2000].decode("utf-8", "replace") if isinstance(answer, bytes) else json.dumps(answer)
    line = " ".join(redact(text).split())
    return line[:120] + "…" if len(line) > 120 else line


def _retry_after(headers: Any) -> float | None:
    value = headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None
