"""HTTP to one address: POSTs of JSON over connections that are kept, and whatever goes wrong as one kind of error.

Used for model endpoints and for assistants behind an address. The door limits the calls, so there is no other limit
here. A redirect is not followed, for the key is meant for this address alone; a proxy of the environment is used, but
for what runs on this machine. No error says anything of what was sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from amemgym.llm.wire import ConnectingTimeout, Received, Wire
from amemgym.secrets import redact

if TYPE_CHECKING:
    import aiohttp

#: seconds for a name to be found and a connection to stand
CONNECTING = 20.0
#: bytes of a longer answer are not read
LONGEST_ANSWER = 10_000_000
_PIECE = 1 << 16


class Unreachable(Exception):
    """No whole answer came. The text is the reason, in one line, without keys."""


class Answer(NamedTuple):
    """What came back: the status, the headers (names in small letters), and the body, unpacked.

    A body of more than `LONGEST_ANSWER` bytes is cut one byte after that.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_too_long(self) -> bool:
        return len(self.body) > LONGEST_ANSWER


class Client:
    """POSTs to one address: over connections of our own (`wire.py`), or with aiohttp where a proxy is between.

    Args:
        url: the address that calls begin with; it decides on proxy and certificates.
        headers: sent with every call.
        timeout: seconds within which a whole answer has to be there.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json", **headers}
        self._timeout = timeout
        self._way: Wire | _Proxied | None = None

    async def post(self, url: str, body: bytes) -> Answer:
        """The answer to a POST. Raises Unreachable, or TimeoutError after the time-out."""
        failure: Unreachable
        try:
            way = self._way or self._opened()
            # for the whole of it: some servers send white space while they think, so that each read succeeds
            async with asyncio.timeout(self._timeout):
                return Answer(*await way.post(url, body, CONNECTING))
        except ConnectingTimeout:
            failure = Unreachable(f"no connection within {CONNECTING:g} s")
        except TimeoutError:
            raise
        except (OSError, ValueError) as error:
            failure = Unreachable(_reason(error))
        raise failure  # outside, as a client's own errors may hold the request's headers

    async def aclose(self) -> None:
        way, self._way = self._way, None
        if isinstance(way, Wire):
            way.close()
        elif way is not None:
            await way.aclose()

    def _opened(self) -> Wire | _Proxied:
        """What is opened belongs to the event loop it is made in."""
        proxy = proxy_for(self._url)
        # certificates take 20 ms to be read
        secure = certificates() if "https" in (urlsplit(self._url).scheme, urlsplit(proxy or "").scheme) else None
        if proxy is None:
            self._way = Wire(self._url, self._headers, secure, LONGEST_ANSWER)
        else:
            self._way = _Proxied(proxy, self._headers, secure)
        return self._way


class _Proxied:
    """The same through a proxy. Errors are OSError or ValueError, as those of `Wire`."""

    def __init__(self, proxy: str, headers: Mapping[str, str], secure: ssl.SSLContext | None) -> None:
        import aiohttp  # 0.2 s, so only where it is needed

        self._aiohttp = aiohttp
        self._proxy = proxy
        self._session = aiohttp.ClientSession(
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None, connect=CONNECTING),
            connector=aiohttp.TCPConnector(limit=0, ssl=secure or False),  # limit=0: none
            cookie_jar=aiohttp.DummyCookieJar(),  # or one episode could be known in another by it
        )

    async def post(self, url: str, body: bytes, connecting: float) -> Received:
        aiohttp = self._aiohttp
        failure: Exception
        try:
            async with self._session.post(url, data=body, proxy=self._proxy, allow_redirects=False) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Received(response.status, headers, await _read(response))
        except aiohttp.ConnectionTimeoutError:
            failure = ConnectingTimeout()
        except aiohttp.ClientError as error:
            failure = OSError(_reason(error))
        raise failure

    async def aclose(self) -> None:
        await self._session.close()


def proxy_for(url: str) -> str | None:
    """The environment's proxy for an address elsewhere; what runs on this machine is called directly. Raises
    Unreachable where it is no address of an HTTP proxy."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_this_machine(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    return _usable(found) if found else None


def _usable(proxy: str) -> str:
    """The proxy's address with its scheme, which may be left out. A client's own error would show its password."""
    proxy = proxy if "://" in proxy else f"http://{proxy.lstrip('/')}"
    try:
        parts = urlsplit(proxy)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is no number, half a bracket
        usable = False
    if not usable:
        raise Unreachable("the proxy that the environment names is no address such as http://proxy:3128")
    return proxy


def certificates() -> ssl.SSLContext:
    """Whom to trust: certifi's authorities, the same on every machine, or those that the environment names."""
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context()
    import certifi

    return ssl.create_default_context(cafile=certifi.where())


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body, or one byte more than the longest that is taken."""
    first = await response.content.readany()
    if response.content.at_eof():
        return first[: LONGEST_ANSWER + 1]
    parts, length = [first], len(first)
    async for part in response.content.iter_chunked(_PIECE):
        parts.append(part)
        length += len(part)
        if length > LONGEST_ANSWER:
            break
    return b"".join(parts)[: LONGEST_ANSWER + 1]


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _reason(error: Exception) -> str:
    """Why a call failed, in one line."""
    said = getattr(error, "message", None) or getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(redact(str(said)).split())[:200]
