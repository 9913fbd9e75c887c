"""What a memory's own calls end in: the first error is raised when the use ends, whatever the memory system made of it;
nothing more is asked then. Its clients do not try again. Calls that come when the memory is not in use are refused.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

import openai
import pytest

from amemgym.errors import (
    AMemGymError,
    AuthenticationFailed,
    BadRequest,
    ContentFiltered,
    ContextOverflow,
    EndpointUnavailable,
    MemoryFailed,
    NotAnEndpoint,
    QuotaExhausted,
    StorageError,
)
from amemgym.llm import Completion, Door, Endpoint, Gateway, Request, embedder
from amemgym.llm.openai import OpenAIModel
from amemgym.memory import Memory, Tools, close_memory, new_memory, read_from, write_to
from amemgym.messages import Message
from tests.llm.helpers import NOW
from tests.support import mock_openai as mock
from tests.support.lending import HELLO, in_loop, lending, send
from tests.support.models import Scripted, line_for

KEY = "sk-secret-8Hh3wYpQ51Lm"
FAULTS: list[tuple[mock.Response, type[AMemGymError], int, str | None]] = [
    (mock.context_overflow(), ContextOverflow, 400, "context_length_exceeded"),
    (mock.content_filter(), ContentFiltered, 400, "content_filter"),
    (mock.error(401, f"Wrong key {KEY}."), AuthenticationFailed, 401, "invalid_api_key"),
    (mock.quota(), QuotaExhausted, 402, "insufficient_quota"),
    (mock.error(503, "Down."), EndpointUnavailable, 503, "unavailable"),
    (mock.html(), NotAnEndpoint, 503, "unavailable"),
    (mock.error(400, "No tools here."), BadRequest, 400, None),
]


@pytest.mark.parametrize(
    ("fault", "kind", "status", "code"), FAULTS, ids=lambda value: getattr(value, "__name__", None)
)
@in_loop
async def test_an_endpoint_s_error_is_the_client_s_and_then_the_run_s(
    fault: mock.Response, kind: type[AMemGymError], status: int, code: str | None
) -> None:
    from amemgym.secrets import remember

    remember(KEY)
    with mock.MockOpenAI(lambda request: fault) as server:
        model = OpenAIModel("gpt-x", base_url=server.base_url, timeout=5.0)
        async with lending(model) as endpoint:
            with pytest.raises(kind) as raised, endpoint.in_use():
                async with openai.AsyncOpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key) as client:
                    with pytest.raises(openai.APIStatusError) as told:
                        await client.chat.completions.create(model="m", **HELLO)
                again = await send(endpoint)  # the memory swallowed it, and goes on
        await model.aclose()
    assert (told.value.status_code, told.value.code) == (status, code)
    assert told.value.response.headers["x-should-retry"] == "false"
    assert told.value.body["message"] == str(raised.value) == again.sentence  # type: ignore[index]
    assert KEY not in str(raised.value)
    assert server.arrived == 1, "neither the client tries again, nor is more asked once one call failed"


@asynccontextmanager
async def failing(error: Exception) -> AsyncIterator[Endpoint]:
    def fail(request: Request) -> str:
        raise error

    async with lending(Scripted(fail)) as endpoint:
        yield endpoint


@in_loop
async def test_the_first_error_goes_before_what_the_memory_makes_of_it() -> None:
    async with failing(EndpointUnavailable("Down.")) as endpoint:
        with pytest.raises(EndpointUnavailable, match="Down"), endpoint.in_use():
            await send(endpoint)
            raise ValueError("no facts in None")
        with pytest.raises(MemoryFailed, match="own"), endpoint.in_use():
            await send(endpoint)
            raise MemoryFailed("its own sentence")
        with pytest.raises(asyncio.CancelledError), endpoint.in_use():
            await send(endpoint)
            raise asyncio.CancelledError
    for fatal in (StorageError("The disk is full."), AuthenticationFailed("Wrong key.")):
        async with failing(fatal) as endpoint:
            with pytest.raises(type(fatal)), endpoint.in_use():
                assert (await send(endpoint)).status in (401, 503)
            with pytest.raises(type(fatal)), endpoint.in_use():
                await send(endpoint)
                raise MemoryFailed("its own sentence, after which the run would go on")
    async with failing(KeyError("in a plug-in")) as endpoint:
        with pytest.raises(KeyError), endpoint.in_use():
            assert (await send(endpoint)).status == 500
        with pytest.raises(ValueError, match="mine"), endpoint.in_use():
            raise ValueError("mine")


@in_loop
async def test_a_call_out_of_use_is_refused_and_told_at_the_next_use() -> None:
    provider = Scripted()
    async with lending(provider) as endpoint:
        refused = await send(endpoint)
        assert (refused.status, "when it was not in use" in refused.sentence) == (409, True)
        assert (await send(endpoint, "embeddings", {"input": "a"})).status == 409
        ran = False
        with pytest.raises(MemoryFailed, match="when it was not in use"), endpoint.in_use():
            ran = True  # so that a memory is closed all the same
        assert ran
        with endpoint.in_use():
            assert (await send(endpoint)).status == 200, "it is told once"
        await send(endpoint)
        endpoint.release()
    assert len(provider.requests) == 1


class Stuck(Scripted):
    """Answers when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may = asyncio.Event(), asyncio.Event()
        self.stopped = False

    async def complete(self, request: Request) -> Completion:
        self.asked.set()
        try:
            await self.may.wait()
        except asyncio.CancelledError:
            self.stopped = True
            raise
        return await super().complete(request)


@in_loop
async def test_a_call_that_is_not_waited_for_is_found_and_stopped() -> None:
    provider = Stuck()
    async with lending(provider) as endpoint:
        with pytest.raises(MemoryFailed, match="still under way"), endpoint.in_use():
            call = asyncio.create_task(send(endpoint))
            await provider.asked.wait()
        with suppress(Exception):
            await call
        assert provider.stopped
        provider.may.set()
        with endpoint.in_use():
            assert (await send(endpoint)).status == 200


@in_loop
async def test_one_address_is_used_once_at_a_time() -> None:
    async with lending(Scripted()) as endpoint:
        with endpoint.in_use():
            with pytest.raises(MemoryFailed, match="twice at once"), endpoint.in_use():
                pass
            assert (await send(endpoint)).status == 200


# --- memories ---


class Calls(Memory):
    """A memory system that calls its model by itself, and swallows what goes wrong. It is not `blocking`, yet waits."""

    needs_endpoint = True
    what: Callable[[Endpoint], Any] = staticmethod(lambda endpoint: None)

    def __init__(self) -> None:
        self.closed = False

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        assert self.tools.endpoint is not None
        self.threads = threading.get_ident()
        with suppress(Exception):
            self.what(self.tools.endpoint)

    def read(self, query: str, now: datetime, k: int) -> list[str]:
        return [query]

    def close(self) -> None:
        self.closed = True


class AsyncCalls(Calls):
    async def write(self, messages: Sequence[Message], now: datetime) -> None:  # type: ignore[override]
        assert self.tools.endpoint is not None
        self.threads = threading.get_ident()
        await send(self.tools.endpoint)


def ask_once(endpoint: Endpoint) -> None:
    with openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key, timeout=20) as client:
        client.chat.completions.create(model=endpoint.model, **HELLO)


@asynccontextmanager
async def memory_of(kind: type[Memory], provider: Scripted) -> AsyncIterator[Any]:
    async with Gateway() as gateway:
        line, door = line_for(), Door(provider, 4, attempts=1)
        lender = gateway.for_episode(line, door, embedder())
        yield new_memory(kind, Tools(line.model(door, "memory"), embedder(), lender=lender))


@in_loop
async def test_a_memory_that_swallows_an_error_fails_with_it() -> None:
    def fail(request: Request) -> str:
        raise ContextOverflow("Too long.")

    class Swallows(Calls):
        what = staticmethod(ask_once)

    async with memory_of(Swallows, Scripted(fail)) as memory:
        with pytest.raises(ContextOverflow):
            await write_to(memory, [], NOW)
        assert await read_from(memory, "q", NOW, 3)
        await close_memory(memory)
        assert memory.closed


@in_loop
async def test_a_plain_memory_waits_in_a_thread_and_an_async_one_in_the_loop() -> None:
    class Waits(Calls):
        what = staticmethod(ask_once)

    provider = Scripted()
    for kind, in_the_loop in ((Waits, False), (AsyncCalls, True)):
        async with memory_of(kind, provider) as memory:
            await write_to(memory, [], NOW)
            assert (memory.threads == threading.get_ident()) is in_the_loop
            await close_memory(memory)
    assert len(provider.requests) == 2


@in_loop
async def test_a_cancelled_memory_ends_before_anything_else_uses_it() -> None:
    class Waits(Calls):
        ended = False

        def what(self, endpoint: Endpoint) -> None:  # type: ignore[override]
            try:
                ask_once(endpoint)
            finally:
                self.ended = True

    provider = Stuck()
    async with memory_of(Waits, provider) as memory:
        write = asyncio.create_task(write_to(memory, [], NOW))
        await provider.asked.wait()
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
        assert memory.ended
        assert provider.stopped
        await close_memory(memory)
        assert memory.closed


@in_loop
async def test_an_error_that_quotes_the_address_is_struck_out() -> None:
    class Quotes(Calls):
        def write(self, messages: Sequence[Message], now: datetime) -> None:
            assert self.tools.endpoint is not None
            raise ConnectionError(f"no answer from {self.tools.endpoint.base_url} with {self.tools.endpoint.api_key}")

    async with memory_of(Quotes, Scripted()) as memory:
        with pytest.raises(MemoryFailed) as error:
            await write_to(memory, [], NOW)
        assert memory.tools.endpoint.api_key not in str(error.value)
        assert "no answer from http://[key]/[key]-1/v1 with [key]" in str(error.value)
