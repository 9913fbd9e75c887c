"""One POST to an assistant that is a black box: JSON there and back, and every way it can end as a named error."""

from __future__ import annotations

import ipaddress
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import SecretStr

from amemgym.errors import AuthenticationFailed, EndpointUnavailable, ModelError, NotAnEndpoint, RequestRefused
from amemgym.secrets import redact

if TYPE_CHECKING:
    import aiohttp

#: bytes of a longer answer are not read
LONGEST_ANSWER = 10_000_000
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
        self._session: aiohttp.ClientSession | None = None

    async def post(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        """What the server answers to `call`. Raises a ModelError."""
        import aiohttp  # 0.2 s, so only where it is needed

        try:
            async with self._opened().post(
                f"{self.url}/{call}",
                data=json.dumps(body).encode("ascii"),
                proxy=_proxy(self.url),
                allow_redirects=False,
            ) as response:
                raw = await _read(response)
                status, headers = response.status, response.headers
        except TimeoutError as error:
            raise EndpointUnavailable(
                f"{self._where} did not answer /{call} within {self._timeout:g} s; --timeout gives it longer"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            why = redact(str(getattr(error, "strerror", None) or error or type(error).__name__))
            raise EndpointUnavailable(
                f"{self._where} cannot be reached ({why}); check that it runs and that the URL is right"
            ) from error
        if not 200 <= status < 300:
            raise self._refusal(call, status, raw, headers)
        if len(raw) > LONGEST_ANSWER:
            raise self.wrong(call, f"is longer than {LONGEST_ANSWER // 1_000_000} MB", raw)
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            raise self.wrong(call, "is no JSON", raw) from None
        if not isinstance(answer, dict):
            raise self.wrong(call, "is no JSON object", raw)
        return answer

    def wrong(self, call: str, what: str, answer: object) -> NotAnEndpoint:
        """The error of an answer that is not as it should be."""
        return NotAnEndpoint(
            f"{self._where}: its answer to /{call} {what} ({_excerpt(answer)!r}); how it should be stands in {PROTOCOL}"
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    @property
    def _where(self) -> str:
        return f"the assistant at {self.url}"

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            headers = {"Content-Type": "application/json"}
            if self._api_key is not None:
                headers["Authorization"] = f"Bearer {self._api_key.get_secret_value()}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                connector=aiohttp.TCPConnector(limit=0),  # the door limits the calls
                cookie_jar=aiohttp.DummyCookieJar(),  # or one episode could be known in another by it
            )
        return self._session

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


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body, or one byte more than the longest that is taken."""
    parts, length = [], 0
    async for part in response.content.iter_chunked(1 << 16):
        parts.append(part)
        length += len(part)
        if length > LONGEST_ANSWER:
            break
    return b"".join(parts)[: LONGEST_ANSWER + 1]


def _proxy(url: str) -> str | None:
    """The environment's proxy for an address elsewhere; what runs on this machine is called directly."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_this_machine(host) or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _excerpt(answer: object) -> str:
    """The beginning of what was answered, in one line, without keys."""
    text = answer[:2000].decode("utf-8", "replace") if isinstance(answer, bytes) else json.dumps(answer)
    line = " ".join(redact(text).split())
    return line[:120] + "…" if len(line) > 120 else line


def _retry_after(headers: Any) -> float | None:
    value = headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None
