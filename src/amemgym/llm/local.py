"""A model on this machine: a GGUF file, run in this process.

What a task wants as JSON is decoded under the task's own schema, so that it can be read. A choice among options is
answered like everything else (`generate`), or by scoring each option's number in every rotation of the options
(`rotate`), so that a liking for a place in the list evens out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from amemgym.clean import clean
from amemgym.errors import NoContent, RequestRefused
from amemgym.llm.engine import Body, ChatReply, engine_for, give_back, library
from amemgym.llm.gguf import ModelFile, model_file
from amemgym.llm.models import ModelSettings
from amemgym.llm.provider import Completion, Request, Usage
from amemgym.llm.rotate import BEGUN, LIKELIEST, MOST_OPTIONS, best_option, rotations
from amemgym.messages import Message
from amemgym.tasks import Chat, ChooseKnowing, ChooseOption, Prompts, Task, ToolCall

#: of a model that samples; the same request gets the same reply
SEED = 0


class LocalModel:
    """One model file with the settings of a run. Nothing is loaded before the first request.

    Args:
        name: the file.
        settings: temperature, longest reply, context and way of choosing.
        say: is told, once, of what cannot be done as asked.
    """

    def __init__(self, name: str, settings: ModelSettings, say: Callable[[str], None] = lambda sentence: None) -> None:
        file = model_file(name)
        self._engine = engine_for(file, longest_context(file, settings))
        self._settings = settings
        self._say = say
        self._said = False
        self.identity = f"local:{file.path.name}"

    async def complete(self, request: Request) -> Completion:
        task = request.task
        if self._settings.choice == "rotate" and isinstance(task, ChooseOption | ChooseKnowing) and request.prompts:
            if len(task.options) <= MOST_OPTIONS:
                return await self._scored(task, request.prompts)
            if not self._said:
                self._said = True
                self._say(
                    f"questions with more than {MOST_OPTIONS} options are answered by generation: a number of two"
                    " digits cannot be told from its first digit"
                )
        if isinstance(task, Chat):  # a memory system's own request, with its tools and the form it wants
            body = self._body(()) | {name: clean(value) for name, value in task.body.items()}
        else:
            body = self._body(request.messages, response_format=_response_format(task))
        [reply] = await self._engine.chat(body)
        usage = Usage(reply.input, reply.output)
        calls = tuple(ToolCall(id or f"call_{n}", name, said) for n, (id, name, said) in sorted(reply.calls.items()))
        if isinstance(task, Chat) and not calls and task.body.get("tool_choice") not in (None, "auto", "none"):
            raise RequestRefused(
                f"{self.identity} calls no tools, and the memory system needs one called; take a model file whose chat"
                " template knows tools, or an endpoint"
            )
        if not reply.text and not calls:
            raise NoContent(
                f"{self.identity} answered without content (finish_reason: {reply.finish});"
                " if it reasons before it replies, allow it more with --max-tokens",
                usage,
                reply.finish,
            )
        return Completion(reply.text, usage, reply.finish, reply.seconds, calls)

    async def aclose(self) -> None:
        await give_back(self._engine)

    def _body(
        self,
        messages: Sequence[Message],
        **more: Any,
    ) -> Body:
        """The request as the server takes it."""
        body: Body = {"messages": [message.as_chat() for message in messages], "seed": SEED}
        body |= {"temperature": self._settings.temperature, "max_tokens": self._settings.max_tokens}
        body |= more
        return {name: value for name, value in body.items() if value is not None}

    async def _scored(self, task: ChooseOption | ChooseKnowing, prompts: Prompts) -> Completion:
        turned = rotations(task)
        begun = Message("assistant", BEGUN)
        bodies = [
            self._body(
                [*rotation.task.messages(prompts), begun],
                max_tokens=1,
                logprobs=True,
                top_logprobs=LIKELIEST,
                # a model that reasons cannot be given the beginning of its reply
                chat_template_kwargs={"enable_thinking": False},
            )
            for rotation in turned
        ]
        replies: list[ChatReply] = await self._engine.chat(*bodies)
        usage = Usage(sum(reply.input for reply in replies), sum(reply.output for reply in replies))
        best = best_option([rotation.shift for rotation in turned], [reply.likeliest for reply in replies])
        if best is None:
            raise NoContent(
                f"{self.identity} holds no option's number among the {LIKELIEST} likeliest ways to go on;"
                " let it answer with --choice generate",
                usage,
            )
        seconds = sum(reply.seconds for reply in replies)
        return Completion(json.dumps({"answer": best}), usage, seconds=seconds)


def longest_context(file: ModelFile, settings: ModelSettings) -> int:
    """Tokens: what the run allows, but no more than the model was trained for."""
    return min(settings.context_tokens, file.context or settings.context_tokens)


def describe(name: str, settings: ModelSettings) -> dict[str, Any]:
    """What decides a file's replies, wherever it is: what it holds, and what runs it. Raises UsageError."""
    file = model_file(name)
    return {
        "model": f"local:{Path(name).name}",
        "sha256": file.sha256,
        "xllamacpp": str(library().__version__),
        "context_tokens": longest_context(file, settings),
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "seed": SEED,
        "choice": settings.choice,
    }


def _response_format(task: Task[Any]) -> dict[str, Any] | None:
    if not task.wants_json:
        return None
    schema = task.reply_schema()
    if schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": task.name, "schema": schema}}
