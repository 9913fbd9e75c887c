"""The gateway: one OpenAI-compatible server on the loopback interface, for memory systems that call a model themselves.

Behind it are the run's own door, journal and embedder, so such a system's calls are limited, retried, kept and counted
like every other one, and the system needs neither a key nor a network. Each memory has an address of its own
(`LentEndpoint`). The port, the path and the token are new in each run; they let nobody else in, and enter nothing that
is kept. It serves in the event loop of the run: who calls it from that loop without awaiting waits for itself.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, Self
from urllib.request import getproxies, proxy_bypass

from amemgym.errors import UsageError
from amemgym.llm import openai_form
from amemgym.llm.door import Door, Line, Model
from amemgym.llm.embed import Embedder
from amemgym.llm.endpoint import Endpoint, FindStandIn, Lender
from amemgym.llm.lent import LentEndpoint, Refused
from amemgym.secrets import remember

if TYPE_CHECKING:
    from aiohttp import web

#: bytes of a request
LARGEST = 64 * 2**20
LOOPBACK = ("127.0.0.1", "localhost")
#: seconds that what is under way has when the gateway closes; by then nobody waits for it
GRACE = 1.0


class Gateway:
    """One for a run; `async with Gateway() as gateway`, or `start` (as often as one likes) and `aclose`."""

    def __init__(self) -> None:
        self._lent: dict[str, LentEndpoint] = {}
        self._count = 0
        self._starting = asyncio.Lock()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @staticmethod
    def check() -> None:
        """Raises UsageError where the environment sends clients by way of a proxy, which cannot reach this machine's
        loopback and would be shown what is said there."""
        proxies = getproxies()
        used = next((name for name in ("http", "all") if proxies.get(name)), None)
        if used and not proxy_bypass(LOOPBACK[0]):
            name = f"{used.upper()}_PROXY"
            raise UsageError(f"{name} would get what memories ask their model at {LOOPBACK[0]}; add that to NO_PROXY")

    async def start(self) -> None:
        """Serve from now on, if it does not yet. Raises UsageError as `check`, and where there is no port for it."""
        async with self._starting:
            if self._runner is None:
                await self._start()

    async def _start(self) -> None:
        from aiohttp import web  # 0.2 s, and few runs need it

        self.check()
        app = web.Application(client_max_size=LARGEST)
        app.router.add_route("*", "/{address}/v1/{what:.*}", self._handle)
        app.router.add_route("*", "/{rest:.*}", self._handle)
        runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=GRACE)
        await runner.setup()
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.bind((LOOPBACK[0], 0))
            self._port = int(listener.getsockname()[1])
            await web.SockSite(runner, listener, backlog=1024).start()
        except OSError as error:
            listener.close()
            raise UsageError(f"no port of {LOOPBACK[0]} can be had for memories' calls: {error.strerror}") from error
        self._runner = runner
        # an address may be quoted in an error that a memory system raises; nothing of it is ever written
        self._token, self._path = (remember(token_urlsafe(24)).get_secret_value() for _ in range(2))
        remember(f"{LOOPBACK[0]}:{self._port}")

    async def aclose(self) -> None:
        """Serve no more; harmless when done twice, or where it never started."""
        if self._runner is not None:
            for lent in list(self._lent.values()):
                lent.release()
            runner, self._runner = self._runner, None
            await runner.cleanup()

    def for_episode(self, line: Line, door: Door, embedder: Embedder) -> Lender:
        """Lends addresses to the memories of one episode; what is asked there is theirs (role "memory")."""
        return _EpisodeLender(self, line, line.model(door, "memory"), embedder)

    def lend(self, line: Line, model: Model, embedder: Embedder, stand_in: FindStandIn) -> Endpoint:
        """An address. Call once it is started."""
        self._count += 1
        name = f"{self._path}-{self._count}"
        base_url = f"http://{LOOPBACK[0]}:{self._port}/{name}/v1"

        def released() -> None:
            self._lent.pop(name, None)

        self._lent[name] = LentEndpoint(base_url, self._token, model, line, embedder, stand_in, released)
        return self._lent[name]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        """Any request; whatever happens, the answer has OpenAI's form and tells its client not to try again: what can
        help has been tried at the door."""
        from aiohttp import web

        try:
            return await self._answer(request)
        except Exception as failure:
            status, body = openai_form.error(failure)
            return web.json_response(body, status=status, headers={"x-should-retry": "false"})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        if request.headers.get("Host", "") not in [f"{name}:{self._port}" for name in LOOPBACK]:
            raise Refused(404, "its request names another host than this one")  # a page in a browser may come so far
        lent = self._find(request.match_info.get("address", ""))
        sent = request.headers.get("Authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(sent, f"Bearer {self._token}".encode()):
            refused = Refused(401, "its request has not the key of its endpoint; send tools.endpoint.api_key")
            lent.refused(refused)  # who knows the address is this memory
            raise refused
        what = (request.method, request.match_info["what"])
        if what == ("GET", "models"):
            return web.json_response(openai_form.models())
        if request.method != "POST":
            raise _unknown(request)
        with lent.serving():
            if what == ("POST", "chat/completions"):
                body = await _body(request)
                asked = openai_form.asked_for(body)
                reply = await lent.complete(asked)
            elif what == ("POST", "embeddings"):
                return web.json_response(_embeddings(lent, await _body(request)))
            else:
                raise _unknown(request)
        if not body.get("stream"):
            return web.json_response(openai_form.completion(asked, reply))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        for chunk in openai_form.chunks(asked, reply, openai_form.wants_usage(body)):
            await response.write(chunk)
        await response.write_eof()
        return response

    def _find(self, name: str) -> LentEndpoint:
        """The address of that name, which is the run's secret and a number; how long the look takes tells nothing."""
        secret, _, _ = name.rpartition("-")
        known = hmac.compare_digest(secret.encode("utf-8", "replace"), self._path.encode())
        if not known or name not in self._lent:
            raise Refused(404, "there is no such address, or it is not lent any more; use tools.endpoint.base_url")
        return self._lent[name]


@dataclass(frozen=True)
class _EpisodeLender:
    gateway: Gateway
    line: Line
    model: Model
    embedder: Embedder

    def lend(self, stand_in: FindStandIn) -> Endpoint:
        return self.gateway.lend(self.line, self.model, self.embedder, stand_in)


async def _body(request: web.Request) -> dict[str, Any]:
    from aiohttp import web

    try:
        raw = await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise Refused(413, f"its request has more than {LARGEST // 2**20} MB") from error
    return openai_form.read_body(raw)


def _embeddings(lent: LentEndpoint, body: dict[str, Any]) -> dict[str, Any]:
    texts = openai_form.texts_of(body, lent.dimensions)
    vectors, tokens = lent.embed(texts)
    return openai_form.embeddings(vectors, tokens, body.get("encoding_format") or "float")


def _unknown(request: web.Request) -> Refused:
    what = f"{request.method} {request.match_info['what'][:60]}"
    return Refused(404, f"{what} is not served; POST chat/completions and embeddings, and GET models are")
