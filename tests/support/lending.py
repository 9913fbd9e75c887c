"""A gateway for tests: one lent address over a provider, and raw requests to it; or memories that have one each."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

from amemgym.llm import Completion, Door, Endpoint, FindStandIn, Gateway, Line, Provider, Usage, embedder
from amemgym.memory import Memory, Tools, close_memory, new_memory
from amemgym.tasks import ToolCall
from tests.support.models import Scripted, line_for

HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello."}]}


class Calling(Scripted):
    """Wants these tools called, and says nothing."""

    def __init__(self, *calls: ToolCall) -> None:
        super().__init__()
        self.wanted = calls

    async def complete(self, request: Any) -> Completion:
        await super().complete(request)
        return Completion("", Usage(10, 2), "tool_calls", calls=self.wanted)


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: its body as JSON, or as text where it is none."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def sentence(self) -> str:
        assert set(self.body["error"]) == {"message", "type", "param", "code"}, "not OpenAI's form"
        return str(self.body["error"]["message"])


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """An async test, as one that pytest calls."""

    @wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        asyncio.run(test(*arguments, **fixtures))

    return run


def no_stand_in(chat: Any) -> None:
    return None


@asynccontextmanager
async def lending(
    provider: Provider, line: Line | None = None, stand_in: FindStandIn = no_stand_in
) -> AsyncIterator[Endpoint]:
    """An address over a provider."""
    async with Gateway() as gateway:
        door = Door(provider, 8, attempts=1)
        yield gateway.for_episode(line or line_for(), door, embedder()).lend(stand_in)


@asynccontextmanager
async def memories(
    cls: type[Memory], provider: Provider, *names: str, line: Line | None = None
) -> AsyncIterator[list[Memory]]:
    """Empty memories of these names, side by side behind one gateway; closed at the end."""
    async with Gateway() as gateway, AsyncExitStack() as closing:
        line, door = line or line_for(), Door(provider, 8, first_wait=0.001)
        lender = gateway.for_episode(line, door, embedder())
        made: list[Memory] = []
        for name in names:
            tools = Tools(line.model(door, "memory"), embedder(), name=name, lender=lender)
            made.append(new_memory(cls, tools))
            closing.push_async_callback(close_memory, made[-1])
        yield made


async def send(
    endpoint: Endpoint,
    what: str = "chat/completions",
    body: Any = HELLO,
    *,
    method: str = "POST",
    url: str | None = None,
    **headers: str,
) -> Answer:
    """One raw request, made in a thread. `body` is sent as JSON unless it is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Authorization": f"Bearer {endpoint.api_key}", "Content-Type": "application/json"} | headers
    address = url or f"{endpoint.base_url}/{what}"
    request = urllib.request.Request(address, data if method == "POST" else None, sent, method=method)

    def fetch() -> Answer:
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return Answer(reply.status, _read(reply.read()), reply.headers)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, _read(error.read()), error.headers)

    return await asyncio.to_thread(fetch)


def _read(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode()
