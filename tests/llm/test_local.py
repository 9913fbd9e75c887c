"""A real model, decoding in this process: JSON that can be read, choices within range, the same reply to the same
request whatever else is asked, a context that grows and ends, and calls that can be given up."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from amemgym.errors import ContextOverflow, RequestRefused
from amemgym.llm import Completion, ModelSettings, Request, engine, open_model
from amemgym.llm.local import LocalModel
from amemgym.messages import Message
from amemgym.tasks import (
    Chat,
    ChooseKnowing,
    ChooseOption,
    Context,
    ProbeStates,
    Prompts,
    Reply,
    RevealedStates,
    Status,
    Task,
)
from tests.support.gguf import MODEL, needs_model

pytestmark = needs_model
T = TypeVar("T")

SETTINGS = ModelSettings(f"local:{MODEL}", max_tokens=80)
VALUES = {"home": ("city", "coast"), 'Wohn"ort': ("1", "null")}
OPTIONS = ("Walk along the coast.", "Stay at the farm.")
KNOWING = ChooseKnowing("Where do I go?", OPTIONS, (("home", "farm"),))


@pytest.fixture(autouse=True, scope="module")
def _loaded_once() -> Iterator[None]:
    """One model of each context stays open, and with it what all of the same file share. Threads gain nothing here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        kept = opened()
        yield
        asyncio.run(kept.aclose())
        assert engine._engines == {}


def opened(**settings: Any) -> LocalModel:
    model = open_model(replace(SETTINGS, **settings), lambda sentence: None)
    assert isinstance(model, LocalModel)
    return model


def asked(*requests: Request, **settings: Any) -> list[Completion]:
    """Replies, one after the other."""

    async def ask() -> list[Completion]:
        model = opened(**settings)
        try:
            return [await model.complete(request) for request in requests]
        finally:
            await model.aclose()

    return asyncio.run(ask())


def request(task: Task[Any], text: str = "Which one?") -> Request:
    """A request whose messages are short, as reading is what takes time here."""
    return Request(task, (Message("user", text),), None, Terse())


class Terse(Prompts):
    def fill(self, template: str, **fields: object) -> str:
        return f"{fields.get('known', '')}\n{fields.get('options', '')}"


JSON_TASKS: list[Task[Any]] = [
    ChooseOption("", OPTIONS, Context()),
    ProbeStates(VALUES, Context()),
    RevealedStates("", VALUES),
]


@pytest.mark.parametrize("task", JSON_TASKS, ids=lambda task: task.name)
def test_json_can_always_be_read(task: Task[Any]) -> None:
    """However wildly it samples, and though it is not even told what the form is."""
    [completion] = asked(request(task, "Tell me a story."), temperature=2.0)
    parsed = task.parse(completion.text)
    assert parsed.value is not None and parsed.status in (Status.OK, Status.REPAIRED)
    assert completion.finish == "stop"
    assert completion.seconds > 0  # without the wait for other calls
    assert 0 < completion.usage.output <= 80 and completion.usage.input > 5 and not completion.usage.estimated


def test_a_reply_depends_on_its_request_alone() -> None:
    """To the last bit of a probability, whatever was asked before; and sampling is by a seed. A cache that was kept
    from the call before would change requests of this length and longer."""
    said = "I like it. " * 8
    texts = (f"{said}Name a fruit.", f"{said}Name a fruit of the north.", f"{said}Name a fruit.")

    async def ask() -> list[engine.ChatReply]:
        model = opened(temperature=1.0, max_tokens=6)
        bodies = [model._body((Message("user", text),), logprobs=True, top_logprobs=5) for text in texts]
        try:
            return [(await model._engine.chat(body))[0] for body in bodies]
        finally:
            await model.aclose()

    one, two, three = asyncio.run(ask())
    assert one.likeliest and one == three != two


def test_a_choice_by_scores_follows_its_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same options in another order: the same requests, and so the same option."""
    sent: list[list[dict[str, Any]]] = []
    chat = engine.Engine.chat

    def noted(self: engine.Engine, *bodies: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        sent.append([body["messages"] for body in bodies])
        return chat(self, *bodies)

    monkeypatch.setattr(engine.Engine, "chat", noted)
    turned = replace(KNOWING, options=OPTIONS[1:] + OPTIONS[:1])
    tasks = (KNOWING, turned)
    replies = asked(*(request(task) for task in tasks), choice="rotate")
    numbers = [task.parse(reply.text).value for task, reply in zip(tasks, replies, strict=True)]
    assert all(task.parse(reply.text).status is Status.OK for task, reply in zip(tasks, replies, strict=True))
    assert KNOWING.options[numbers[0] - 1] == turned.options[numbers[1] - 1]
    assert sent[0] == sent[1] and len(sent[0]) == 2
    assert all(reply.seconds > 0 for reply in replies)
    assert replies[0].usage == replies[1].usage and replies[0].usage.output == 2
    # each option was first once
    assert {text.split("1: ")[1].split("\n")[0] for [*_, last, _] in sent[0] for text in [last["content"]]} == {
        *OPTIONS
    }


def test_ten_options_are_answered_by_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    standing_in(monkeypatch, size=10)
    said: list[str] = []
    task = ChooseOption("", tuple(map(str, range(10, 20))), Context())

    async def ask() -> list[Completion]:
        model = open_model(replace(SETTINGS, choice="rotate", context_tokens=512), said.append)
        try:
            return [await model.complete(request(task)) for _ in range(2)]
        finally:
            await model.aclose()

    assert [reply.usage.output for reply in asyncio.run(ask())] == [80, 80]
    assert len(said) == 1 and "more than 9 options" in said[0]


def test_a_request_longer_than_the_context_does_not_fit() -> None:
    """The library makes contexts of 256 tokens and multiples."""
    with pytest.raises(ContextOverflow, match="256 tokens"):
        asked(request(Reply(Context()), "I like it. " * 62 + "What do you like?"), context_tokens=256)


class CutOff:
    """A server whose replies are of 200 tokens, after `size` tokens of the request, if there is room for them."""

    def __init__(self, context: int, size: int) -> None:
        self.size, self.room = size, context - size

    def handle_chat_completions(self, body: dict[str, Any], receive: Callable[[dict[str, Any]], bool]) -> None:
        if self.room <= 0:
            receive({"error": {"type": "exceed_context_size_error", "n_prompt_tokens": self.size}})
            return
        count = min(200, self.room, body.get("max_tokens", 200))
        receive({"choices": [{"delta": {"content": "so " * count}}]})
        receive({"choices": [{"delta": {}, "finish_reason": "stop" if count == 200 else "length"}]})
        receive({"choices": [], "usage": {"prompt_tokens": self.size, "completion_tokens": count}})


@pytest.mark.parametrize(
    ("size", "longest", "most", "said", "contexts"),
    [
        (100, 512, 250, 200, [256, 512]),
        (100, 512, None, 200, [256, 512]),
        (100, 512, 150, 150, [256]),
        (100, 256, 150, 150, [256]),
        (600, 4096, 150, 150, [256, 601, 1202]),
    ],
)
def test_the_context_grows_until_request_and_reply_fit(
    size: int, longest: int, most: int | None, said: int, contexts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = standing_in(monkeypatch, size)
    [reply] = asked(request(Reply(Context())), max_tokens=most, context_tokens=longest)
    assert reply.text.split() == ["so"] * said and reply.usage.output == said
    assert loaded == contexts


@pytest.mark.parametrize(
    ("size", "longest", "contexts"), [(100, 256, [256]), (400, 512, [256, 512]), (513, 512, [256])]
)
def test_a_reply_that_no_context_is_long_enough_for(
    size: int, longest: int, contexts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = standing_in(monkeypatch, size)
    with pytest.raises(ContextOverflow, match=f"{longest} tokens"):
        asked(request(Reply(Context())), max_tokens=250, context_tokens=longest)
    assert loaded == contexts


def standing_in(monkeypatch: pytest.MonkeyPatch, size: int) -> list[int]:
    """No model is loaded, but `CutOff`; the contexts that were wanted."""
    loaded: list[int] = []

    def load(self: engine.Engine, context: int) -> None:
        loaded.append(context)
        self._server, self._context = CutOff(context, size), context

    monkeypatch.setattr(engine, "FIRST_CONTEXT", 256)
    monkeypatch.setattr(engine.Engine, "_load", load)
    return loaded


def test_a_model_in_two_tempers_is_loaded_once() -> None:
    one, two = opened(temperature=0.0), opened(temperature=1.0, max_tokens=4)
    assert one._engine is two._engine

    async def close_one_and_ask_the_other() -> Completion:
        await one.aclose()
        try:
            return await two.complete(request(Reply(Context()), "Name a fruit."))
        finally:
            await two.aclose()

    assert asyncio.run(close_one_and_ask_the_other()).text


def test_a_call_that_is_given_up_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, pieces = threading.Event(), []
    add = engine.ChatReply.add

    def noted(self: engine.ChatReply, piece: dict[str, Any]) -> None:
        pieces.append(piece)
        add(self, piece)
        begun.set()

    monkeypatch.setattr(engine.ChatReply, "add", noted)

    async def give_up() -> Completion:
        model = opened(max_tokens=5000)
        try:
            call = asyncio.create_task(model.complete(request(Reply(Context()), "Tell a long story.")))
            await asyncio.to_thread(begun.wait)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            # what is asked next does not wait for the rest of it
            return await model.complete(request(JSON_TASKS[0]))
        finally:
            await model.aclose()

    assert asyncio.run(give_up()).text
    assert len(pieces) < 200


def test_what_the_library_cannot_take_is_refused() -> None:
    class Odd(ChooseOption):
        def reply_schema(self) -> dict[str, Any]:
            return {"type": "banana"}

    with pytest.raises(RequestRefused, match=r"cannot be asked this: .*banana"):
        asked(request(Odd("", OPTIONS, Context())))


def test_a_memory_system_gets_the_form_it_asks_for() -> None:
    """Its own request goes to the model whole; one for a tool that is not called is an error, and no empty memory."""
    schema = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"]}
    said = [{"role": "user", "content": "I live in Oslo"}]
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    tool = {"type": "function", "function": {"name": "keep", "description": "Keep a city.", "parameters": schema}}
    demanded = {"tools": [tool], "tool_choice": "required"}
    chats = [Chat({"messages": said, "response_format": form}), Chat({"messages": said, **demanded})]
    [formed] = asked(Request(chats[0], ()))
    assert json.loads(formed.text)["city"] in ("Oslo", "Rome") and not formed.calls
    with pytest.raises(RequestRefused, match="calls no tools, and the memory system needs one called"):
        asked(Request(chats[1], ()))


def test_a_tool_call_is_put_together_from_its_pieces() -> None:
    reply = engine.ChatReply()
    for delta in (
        {"id": "a", "function": {"name": "keep", "arguments": '{"ci'}},
        {"function": {"arguments": 'ty": 1}'}},
    ):
        reply.add({"choices": [{"delta": {"tool_calls": [{"index": 0, **delta}]}, "finish_reason": None}]})
    assert reply.calls == {0: ("a", "keep", '{"city": 1}')}
