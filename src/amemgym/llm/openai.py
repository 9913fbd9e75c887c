"""Any OpenAI-compatible endpoint, through the official async client (chat completions only).

Parameters the model refuses are learned as the run goes: they are dropped from then on, and said once. Every way a call
can end is one of the named errors; what the server wrote is quoted in it, with keys struck out. A memory system's own
request is sent as it is, with the run's way of sampling.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, NoReturn

from pydantic import SecretStr

from amemgym.clean import clean
from amemgym.errors import (
    AuthenticationFailed,
    ContentFiltered,
    ContextOverflow,
    EndpointUnavailable,
    NoContent,
    NotAnEndpoint,
    QuotaExhausted,
    RequestRefused,
)
from amemgym.llm.models import DEFAULT_URL
from amemgym.llm.provider import Completion, Request, Usage, estimate_usage
from amemgym.secrets import redact
from amemgym.tasks import Chat, ToolCall

RETRIED_STATUSES = (408, 409, 429)
#: parameters a run can do without: prompts that want JSON say so in words as well
OPTIONAL_PARAMETERS = ("max_tokens", "max_completion_tokens", "temperature", "response_format")

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


class OpenAIModel:
    """One model of one endpoint.

    Args:
        name: the model's name at the endpoint.
        base_url: the endpoint, ending in /v1; None for the client's own default.
        api_key: None sends a placeholder, which local servers accept.
        temperature, max_tokens: sent with every call; None leaves them to the endpoint.
        timeout: seconds without an answer after which a call counts as failed.
        say: is told, once, of each parameter that the model refuses.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: SecretStr | None = None,
        key_name: str = "OPENAI_API_KEY",
        temperature: float | None = 0.0,
        max_tokens: int | None = 2048,
        timeout: float = 120.0,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        import openai  # 0.4 s, so only where an endpoint is used

        self._openai = openai
        self._name = name
        self._has_key = api_key is not None
        self._key_name = key_name
        self._say = say
        self._refused: set[str] = set()
        self._parameters = {"temperature": temperature, "max_tokens": max_tokens}
        self._timeout = timeout
        self._client = openai.AsyncOpenAI(
            api_key=api_key.get_secret_value() if api_key else "no-key",
            base_url=base_url or DEFAULT_URL,  # an empty OPENAI_BASE_URL is none
            timeout=timeout,
            max_retries=0,  # the door tries again, and counts it
        )

    @property
    def identity(self) -> str:
        return f"openai:{self._name}"

    async def complete(self, request: Request) -> Completion:
        """One chat completion; see `amemgym.errors` for how it can end otherwise."""
        while True:
            asked, parameters = _asked(request), self._optional(request)
            try:
                # the client's own time-out is for each read, and some servers send white space while they think
                async with asyncio.timeout(self._timeout):
                    reply = await self._client.chat.completions.create(
                        model=self._name,
                        **asked,
                        **parameters,
                    )
            except self._openai.APIStatusError as error:
                if self._drops_parameter(error, parameters):
                    continue
                self._raise_status(
                    error.status_code, _code(error), _message(error), error, _retry_after(error.response.headers)
                )
            except (self._openai.APITimeoutError, TimeoutError) as error:
                raise EndpointUnavailable(f"{self._where} did not answer within {self._timeout:g} s") from error
            except self._openai.APIConnectionError as error:
                cause = redact(str(error.__cause__ or error))
                raise EndpointUnavailable(
                    f"{self._where} cannot be reached ({cause}); check that it runs and that the base URL is right"
                ) from error
            except (self._openai.OpenAIError, ValueError) as error:
                raise self._not_an_endpoint(str(error)) from error
            return self._completion(request, reply)

    async def aclose(self) -> None:
        await self._client.close()

    @property
    def _where(self) -> str:
        return f"the endpoint {self._client.base_url}"

    def _optional(self, request: Request) -> dict[str, Any]:
        wanted: dict[str, Any] = {name: value for name, value in self._parameters.items() if value is not None}
        if isinstance(request.task, Chat):
            if _wants_any_json(request.task):
                wanted["response_format"] = request.task.body["response_format"]
        elif request.task.wants_json:
            wanted["response_format"] = {"type": "json_object"}
        if "max_tokens" in self._refused and "max_tokens" in wanted:
            wanted["max_completion_tokens"] = wanted["max_tokens"]
        return {name: value for name, value in wanted.items() if name not in self._refused}

    def _drops_parameter(self, error: Any, sent: dict[str, Any]) -> bool:
        """Whether the endpoint refused a parameter we can do without; from now on it is not sent."""
        if error.status_code not in (400, 422):
            return False
        code, message = _code(error), _message(error)
        if _OVERFLOW.search(f"{code} {message}"):
            return False
        named = str(_body(error).get("param") or "")
        refused = next((name for name in OPTIONAL_PARAMETERS if name in sent and name == named.split(".")[0]), None)
        refused = refused or next(
            (n for n in OPTIONAL_PARAMETERS if n in sent and re.search(rf"\b{n}\b", message)), None
        )
        if refused is None:
            return False
        if refused not in self._refused:  # concurrent calls learn the same thing at once
            self._refused.add(refused)
            self._say(f"{self.identity} refuses the parameter {refused}; it is not sent any more")
        return True

    def _raise_status(
        self, status: int, code: str, message: str, error: Exception | None, retry_after: float | None
    ) -> NoReturn:
        text = f"{code} {message}"
        said = f"{self._where} says {status}: {_quoted(message)}"
        if status in (401, 403) and not _FILTER.search(text):
            verb = "set" if self._key_name.isupper() else "give one in"
            where = f"Check the key in {self._key_name}, and that it may use {self._name}."
            where = where if self._has_key else f"No key was given: {verb} {self._key_name}."
            raise AuthenticationFailed(f"{said} {where}") from error
        limited = "rate_limit" in code or retry_after is not None  # then it passes, whatever the text links to
        if status == 402 or (status == 429 and "insufficient_quota" in code):
            raise QuotaExhausted(f"{said} The account's quota is used up; add to it, then resume.") from error
        if status == 429 and _QUOTA.search(text) and not limited:
            raise QuotaExhausted(f"{said} The account's quota is used up; add to it, then resume.") from error
        if status in RETRIED_STATUSES or status >= 500:
            raise EndpointUnavailable(said, retry_after, status) from error
        if status == 413 or (status in (400, 422) and _OVERFLOW.search(text)):
            raise ContextOverflow(f"{said} The request does not fit {self._name}'s context.") from error
        if _FILTER.search(text):
            raise ContentFiltered(f"{said} The provider's content filter stopped the request.") from error
        advice = "The endpoint refuses the request."
        if status == 404:
            advice = f"Check the model name '{self._name}' and that the base URL ends in /v1."
        raise RequestRefused(f"{said} {advice}") from error

    def _completion(self, request: Request, reply: Any) -> Completion:
        failure = getattr(reply, "error", None)
        if isinstance(failure, dict):  # some routers answer 200 before the provider behind them fails
            status = failure.get("code")
            message = str(failure.get("message") or "no reason given")
            self._raise_status(status if isinstance(status, int) else 400, "", message, None, None)
        choices = getattr(reply, "choices", None)
        if not isinstance(choices, list) or not choices or not hasattr(getattr(choices[0], "message", None), "content"):
            raise self._not_an_endpoint(str(reply))
        choice = choices[0]
        text, finish = choice.message.content, redact(str(choice.finish_reason))
        text, calls = text if isinstance(text, str) else "", _calls(choice.message)
        if choice.finish_reason == "content_filter":
            raise ContentFiltered(f"the content filter of {self._where} stopped the reply")
        if not text and not calls:
            raise NoContent(
                f"{self.identity} answered without content (finish_reason: {finish});"
                " if it reasons before it replies, allow it more with --max-tokens",
                self._usage(request, reply, ""),
                finish,
            )
        said = "".join([text, *(call.name + call.arguments for call in calls)])
        return Completion(text, self._usage(request, reply, said), finish, calls=calls)

    def _usage(self, request: Request, reply: Any, text: str) -> Usage:
        usage = getattr(reply, "usage", None)
        tokens = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
        if all(isinstance(count, int) and count >= 0 for count in tokens):
            return Usage(*tokens)  # type: ignore[arg-type]
        return estimate_usage(request.messages, text)

    def _not_an_endpoint(self, said: str) -> NotAnEndpoint:
        excerpt = " ".join(redact(said).split())[:80]
        return NotAnEndpoint(
            f"{self._where} answered something that is no chat completion ({excerpt!r});"
            " check that the base URL is an OpenAI-compatible one (it usually ends in /v1)"
        )


def _asked(request: Request) -> dict[str, Any]:
    """What says what is asked, as the client takes it; of a memory system's own request, all of it."""
    if not isinstance(request.task, Chat):
        return {"messages": [message.as_chat() for message in request.messages]}
    optional = ("response_format",) if _wants_any_json(request.task) else ()
    return {name: clean(value) for name, value in request.task.body.items() if name not in optional}


def _wants_any_json(chat: Chat) -> bool:
    """Whether it wants a JSON object of any form, which its prompt says too; a schema may be said nowhere else."""
    form = chat.body.get("response_format")
    return isinstance(form, Mapping) and form.get("type") == "json_object"


def _calls(message: Any) -> tuple[ToolCall, ...]:
    """The functions that the model wants called."""
    calls = getattr(message, "tool_calls", None)
    functions = [(call, getattr(call, "function", None)) for call in (calls if isinstance(calls, list) else ())]
    return tuple(
        ToolCall(str(getattr(call, "id", None) or f"call_{n}"), str(function.name or ""), _as_json(function.arguments))
        for n, (call, function) in enumerate(functions)
        if function is not None
    )


def _as_json(arguments: Any) -> str:
    """Arguments as text, which some servers give as the object itself."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)


def _body(error: Any) -> dict[str, Any]:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    return inner if isinstance(inner, dict) else {"message": str(inner)}


def _code(error: Any) -> str:
    body = _body(error)
    return f"{body.get('code') or ''} {body.get('type') or ''}"


def _message(error: Any) -> str:
    return str(_body(error).get("message") or error.response.text or "no reason given")


def _quoted(message: str) -> str:
    """What the server said, in one line with a full stop, shortened, without keys."""
    line = " ".join(redact(message).split())
    return (line[:300] + "…" if len(line) > 300 else line).rstrip(".") + "."


def _retry_after(headers: Any) -> float | None:
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
    except (TypeError, ValueError):
        return None
