"""The gateway as a client sees it: completions, tools, streams, embeddings in OpenAI's form; no stranger is served."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from amemgym import secrets
from amemgym.errors import MemoryFailed, NoContent, UsageError
from amemgym.llm import Completion, Door, Endpoint, Gateway, Journal, Request, Usage, at, embedder
from amemgym.tasks import Chat, ToolCall, prompts_for
from tests.support.lending import HELLO, Calling, in_loop, lending, send
from tests.support.models import Scripted, line_for

TOOL = {"type": "function", "function": {"name": "keep", "parameters": {"type": "object", "properties": {}}}}
#: half a pair of surrogates, braces, text from right to left, and what looks like a key
ODD = "a \ud83d b {x} ${y} ‏שלום عربي \u202e \x00"


def client_of(endpoint: Endpoint) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key)


def said(request: Request) -> str:
    return "Said: " + request.messages[-1].content


@in_loop
async def test_clients_get_completions_from_a_thread_and_from_the_loop() -> None:
    async with lending(Scripted(said)) as endpoint:
        body: dict[str, Any] = {"model": endpoint.model, "messages": [{"role": "user", "content": "Hi."}], "seed": 7}

        def blocking() -> Any:
            with openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key) as client:
                return client.chat.completions.create(**body)

        with endpoint.in_use():
            one = await asyncio.to_thread(blocking)
            async with client_of(endpoint) as client:
                other = await client.chat.completions.create(**body)
                listed = [model.id async for model in client.models.list()]
    assert one == other, "the same request has the same answer"
    assert (one.choices[0].message.content, one.choices[0].finish_reason) == ("Said: Hi.", "stop")
    assert (one.usage.prompt_tokens, one.usage.completion_tokens, one.usage.total_tokens) == (10, 2, 12)
    assert (one.model, one.created) == (endpoint.model, 0)
    assert listed == [endpoint.model, endpoint.embedding_model]


@in_loop
async def test_the_model_is_asked_what_was_sent_and_sampled_as_the_run_says() -> None:
    provider = Scripted()
    messages = [
        {"role": "system", "content": "Rules"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "One"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
        {"role": "tool", "content": "done", "tool_call_id": "c"},
    ]
    asked = {"messages": messages, "tools": [TOOL], "tool_choice": "auto", "stop": ["x"]}
    async with lending(provider) as endpoint:
        with endpoint.in_use():
            await send(endpoint, body=asked | {"model": "gpt-x", "temperature": 1.3, "max_tokens": 3, "user": "u"})
    (request,) = provider.requests
    assert isinstance(request.task, Chat)
    assert request.task.body == asked
    assert [(m.role, m.content) for m in request.messages] == [
        ("system", "Rules"),
        ("user", "One\n"),
        ("assistant", ""),
        ("user", "done"),
    ]


@in_loop
async def test_a_model_that_reads_is_asked_without_a_look_at_what_the_prompt_means() -> None:
    def broken(chat: Any) -> None:
        raise KeyError("a prompt of a newer version")

    async with lending(Scripted(), stand_in=broken) as endpoint:
        with endpoint.in_use():
            assert (await send(endpoint)).status == 200


@in_loop
async def test_tool_calls_reach_the_client_and_the_journal(tmp_path: Path) -> None:
    call = ToolCall("call_9", "keep", '{"text": "{a} ünï"}')
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    body: dict[str, Any] = {"model": "m", "tools": [TOOL], **HELLO}
    async with lending(Calling(call), line_for(journal)) as endpoint, client_of(endpoint) as client:
        with endpoint.in_use():
            reply = await client.chat.completions.create(**body)
            streamed = [c async for c in await client.chat.completions.create(**body, stream=True)]
    journal.close()
    (wanted,) = reply.choices[0].message.tool_calls or []
    assert (wanted.id, wanted.function.name, wanted.function.arguments) == (call.id, call.name, call.arguments)
    assert reply.choices[0].message.content is None
    assert reply.choices[0].finish_reason == "tool_calls"
    (part,) = streamed[0].choices[0].delta.tool_calls or []
    assert (part.index, part.id, part.function and part.function.arguments) == (0, call.id, call.arguments)
    assert streamed[-1].choices[0].finish_reason == "tool_calls"
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["calls"] for record in kept] == [[[call.id, call.name, call.arguments]]] * 2

    def never(request: Request) -> str:
        raise AssertionError("asked again")

    async with lending(Scripted(never), line_for(Journal(path))) as endpoint, client_of(endpoint) as client:
        with endpoint.in_use():
            assert await client.chat.completions.create(**body) == reply


@in_loop
async def test_a_stream_is_the_whole_completion_in_chunks() -> None:
    async with lending(Scripted(said)) as endpoint, client_of(endpoint) as client:
        with endpoint.in_use():
            stream = await client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": ODD.replace("\ud83d", "😀")}],
                stream=True,
                stream_options={"include_usage": True},
            )
            chunks = [chunk async for chunk in stream]
            raw = await send(endpoint, body=HELLO | {"stream": True})
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Said: " + ODD.replace("\ud83d", "😀")
    assert [c.choices[0].finish_reason for c in chunks if c.choices] == [None, "stop"]
    assert chunks[-1].usage is not None and chunks[-1].usage.total_tokens == 12
    assert raw.headers["Content-Type"] == "text/event-stream"
    assert raw.body.endswith("data: [DONE]\n\n")
    assert '"usage"' not in raw.body


@in_loop
async def test_odd_text_comes_through(tmp_path: Path) -> None:
    """But for half a character, which nothing can hold, and keys."""
    secrets.remember("sk-abcdef-123")
    journal = Journal(tmp_path / "j.jsonl")
    async with lending(Scripted(said), line_for(journal)) as endpoint:
        with endpoint.in_use():
            answer = await send(endpoint, body={"messages": [{"role": "user", "content": ODD + " sk-abcdef-123"}]})
    journal.close()
    expected = "Said: " + ODD.replace("\ud83d", "\ufffd") + " [key]"
    assert answer.body["choices"][0]["message"]["content"] == expected


@pytest.mark.parametrize("encoding", [None, "float", "base64"])
@in_loop
async def test_embeddings_are_the_run_s_embedder_s(encoding: str | None) -> None:
    line = line_for()
    async with lending(Scripted(), line) as endpoint:
        given = {} if encoding is None else {"encoding_format": encoding}
        with endpoint.in_use():
            if encoding == "float":
                texts: list[str] = ["I ride a bicycle."]
                answer = await send(endpoint, "embeddings", {"input": texts[0], **given})
                data = answer.body["data"]
                vectors = [entry["embedding"] for entry in data]
                assert answer.body["usage"] == {"prompt_tokens": 5, "total_tokens": 5}
            else:
                texts = ["I ride a bicycle.", "", ODD.replace("\ud83d", "")]
                async with client_of(endpoint) as client:
                    reply = await client.embeddings.create(
                        model="m", input=texts, dimensions=endpoint.dimensions, **given
                    )
                assert reply.model == endpoint.embedding_model
                assert [entry.index for entry in reply.data] == [0, 1, 2]
                if encoding == "base64":
                    vectors = [np.frombuffer(base64.b64decode(str(e.embedding)), "<f4") for e in reply.data]
                else:
                    vectors = [entry.embedding for entry in reply.data]
    assert np.array_equal(np.array(vectors, dtype=np.float32), embedder().embed(texts))
    assert endpoint.dimensions == 256
    count = line.ledger["embedding"]
    assert (count.calls, count.output, count.ticks, count.estimated) == (1, 0, 0, 1)
    assert "memory write" not in line.ledger


BAD: list[tuple[str, Any, int, str]] = [
    ("chat/completions", b"{", 400, "no JSON that can be read"),
    ("chat/completions", b'{"messages": [{"role": "user", "content": NaN}]}', 400, "no JSON that can be read"),
    ("chat/completions", b'{"messages": ' + b"[" * 100_000, 400, "no JSON that can be read"),
    ("chat/completions", b"\xff\xfe", 400, "no JSON that can be read"),
    ("chat/completions", [], 400, "no JSON object"),
    ("chat/completions", {}, 400, "no messages"),
    ("chat/completions", {"messages": []}, 400, "no messages"),
    ("chat/completions", {"messages": ["hi"]}, 400, "without a role"),
    ("chat/completions", HELLO | {"n": 2}, 400, "`n` = 2"),
    ("chat/completions", HELLO | {"functions": [{}]}, 400, "`functions`"),
    ("embeddings", {"input": []}, 400, "no input"),
    ("embeddings", {"input": [[1, 2], [3]]}, 400, "check_embedding_ctx_length=False"),
    ("embeddings", {"input": "a", "dimensions": 3}, 400, "have 256"),
    ("embeddings", {"input": "a", "encoding_format": "hex"}, 400, "float or base64"),
    ("responses", HELLO, 404, "POST responses is not served"),
]


@in_loop
async def test_what_cannot_be_served_is_said_so_and_ends_the_use() -> None:
    provider = Scripted()
    async with lending(provider) as endpoint:
        for what, body, status, sentence in BAD:
            with pytest.raises(MemoryFailed, match=sentence.replace("(", ".")), endpoint.in_use():
                answer = await send(endpoint, what, body)
            assert (answer.status, sentence in answer.sentence) == (status, True), answer
            assert answer.headers["x-should-retry"] == "false"
        unknown = await send(endpoint, "nothing", method="GET")
        assert unknown.status == 404 and unknown.sentence
        with endpoint.in_use():
            assert (await send(endpoint)).status == 200
    assert len(provider.requests) == 1


@in_loop
async def test_a_request_may_be_large_but_not_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amemgym.llm.gateway.LARGEST", 1 << 21)
    async with lending(Scripted()) as endpoint:
        for size, status in ((1 << 20, 200), ((1 << 21) + 1, 413)):
            try:
                with endpoint.in_use():
                    answer = await send(endpoint, body={"messages": [{"role": "user", "content": "x" * size}]})
            except MemoryFailed as error:
                assert "more than 2 MB" in str(error)
            assert answer.status == status, answer


@in_loop
async def test_strangers_are_refused() -> None:
    provider = Scripted()
    async with lending(provider) as endpoint, lending(provider) as elsewhere:
        url = f"{endpoint.base_url}/chat/completions"
        port = url.split(":")[2].split("/")[0]
        path = url.split("/")[3]
        with endpoint.in_use():
            for refused, status in (
                (await send(endpoint, Host="evil.test"), 404),
                (await send(endpoint, Host=f"evil.test:{port}"), 404),
                (await send(endpoint, Host="127.0.0.1:1"), 404),
                (await send(endpoint, url=url.replace(path, "x" + path[1:])), 404),
                (await send(endpoint, url=url.replace(path, path + "9")), 404),
                (await send(endpoint, url=url.replace(path, elsewhere.base_url.split("/")[3])), 404),
                (await send(endpoint, url=f"http://127.0.0.1:{port}/v1/chat/completions"), 404),
                (await send(endpoint, url=f"http://127.0.0.1:{port}/"), 404),
            ):
                assert refused.status == status and refused.sentence, refused
                assert endpoint.api_key not in refused.sentence and path not in refused.sentence
            assert (await send(endpoint, Host=f"localhost:{port}")).status == 200
            endpoint.release()
            assert (await send(endpoint)).status == 404
    assert len(provider.requests) == 1
    assert endpoint.api_key != elsewhere.api_key


@in_loop
async def test_a_wrong_key_fails_the_memory_whose_address_it_is() -> None:
    """Whoever knows the address is that memory, and may have swallowed the refusal."""
    provider = Scripted()
    async with lending(provider) as endpoint, lending(provider) as elsewhere:
        for key in ("Bearer wrong", "", f"Bearer {elsewhere.api_key}"):
            with pytest.raises(MemoryFailed, match="has not the key of its endpoint"), endpoint.in_use():
                refused = await send(endpoint, Authorization=key)
                assert refused.status == 401 and endpoint.api_key not in refused.sentence
    assert provider.requests == []


@in_loop
async def test_nothing_of_an_address_is_kept(tmp_path: Path) -> None:
    """Also where a memory system puts its own address into a prompt: then every run asks the same."""
    path = tmp_path / "j.jsonl"
    for _ in range(2):
        provider = Scripted(said)
        journal = Journal(path)
        async with lending(provider, line_for(journal)) as endpoint:
            with endpoint.in_use(), at("p0/s0/r0"):
                prompt = f"{endpoint.base_url} {endpoint.api_key}"
                answer = await send(endpoint, body={"messages": [{"role": "user", "content": prompt}]})
        journal.close()
        assert answer.body["choices"][0]["message"]["content"] == "Said: http://[key]/[key]-1/v1 [key]"
    assert provider.requests == [], "the second run took it from the first one's journal"
    kept = path.read_text()
    assert endpoint.api_key not in kept and endpoint.base_url.split("/")[3] not in kept


@in_loop
async def test_two_addresses_keep_their_places_and_journals_apart() -> None:
    provider = Scripted(said)
    door = Door(provider, 8)
    lines = [line_for(), line_for()]
    async with Gateway() as gateway:
        one, other = (gateway.for_episode(line, door, embedder()).lend(lambda chat: None) for line in lines)
        assert one.base_url != other.base_url

        async def use(endpoint: Endpoint, place: str, examines: str | None, calls: int) -> None:
            with at(place, examines), endpoint.in_use():
                await asyncio.gather(
                    *(
                        send(endpoint, body={"messages": [{"role": "user", "content": f"{place} {n}"}]})
                        for n in range(calls)
                    )
                )

        await asyncio.gather(use(one, "p0/s0/r0", None, 4), use(other, "p1/q3", "exam", 3))
        await use(other, "p1/q3/probe", "probe", 2)
    places = [sorted(a.place for a in line.journal._entries) for line in lines]
    assert places == [["p0/s0/r0"] * 4, ["p1/q3"] * 3 + ["p1/q3/probe"] * 2]
    # as a memory's own calls are counted: what it asks in an exam is its own, a probe is nobody's cost
    counts = [{role: count.calls for role, count in line.ledger.items()} for line in lines]
    assert counts == [{"memory write": 4}, {"memory write": 3, "probe": 2}]


@in_loop
async def test_an_empty_reply_is_an_empty_completion() -> None:
    class Silent(Scripted):
        async def complete(self, request: Request) -> Completion:
            raise NoContent("nothing", Usage(7, 3), "length")

    line = line_for()
    async with lending(Silent(), line) as endpoint:
        with endpoint.in_use():
            answer = await send(endpoint)
    choice = answer.body["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("", "length")
    assert answer.body["usage"]["total_tokens"] == 10
    assert line.ledger["memory write"].input == 7


@in_loop
async def test_it_does_not_serve_where_a_proxy_would_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", "example.test")
    with pytest.raises(UsageError, match="add that to NO_PROXY"):
        await Gateway().start()
    monkeypatch.setenv("NO_PROXY", "example.test,127.0.0.1")
    async with lending(Scripted()) as endpoint:
        with endpoint.in_use():
            assert (await send(endpoint)).status == 200


@in_loop
async def test_old_journals_keep_their_bytes(tmp_path: Path) -> None:
    """A line without tool calls is written as ever."""
    journal = Journal(tmp_path / "j.jsonl")
    model = line_for(journal).model(Door(Scripted(), 1), "memory")
    chat = Chat({"messages": [{"role": "user", "content": "Hi."}]})
    await model.complete(chat)
    journal.close()
    (line,) = (tmp_path / "j.jsonl").read_text().splitlines()
    assert list(json.loads(line)) == [
        "at",
        "role",
        "request",
        "text",
        "finish",
        "input",
        "output",
        "estimated",
        "seconds",
    ]
    assert chat.messages(prompts_for("en"))[0].content == "Hi."
