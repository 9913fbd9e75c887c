"""Any OpenAI-compatible endpoint (chat completions only).

Parameters the model refuses are learned as the run goes: they are dropped from then on, and said once. Every way a call
can end is one of the named errors. A memory system's own request is sent as it is, with the run's way of sampling.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from amemgym.errors import ContentFiltered, EndpointUnavailable, NoContent, NotAnEndpoint
from amemgym.llm import transport
from amemgym.llm.models import DEFAULT_URL
from amemgym.llm.openai_body import body_of, wants_any_json
from amemgym.llm.openai_errors import Asked, Refusal
from amemgym.llm.openai_reply import Failure, NoCompletion, read_reply
from amemgym.llm.provider import Completion, Request, estimate_usage
from amemgym.llm.transport import Answer, Client, Unreachable
from amemgym.tasks import Chat
from amemgym.version import __version__

#: headers that say on whose account a call goes, of OpenAI's own endpoint, and the variables they are in
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}


class OpenAIModel:
    """One model of one endpoint.

    Args:
        name: the model's name at the endpoint.
        base_url: the endpoint, ending in /v1; None for OpenAI's own.
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
        self.base_url = (base_url or DEFAULT_URL).rstrip("/")  # an empty OPENAI_BASE_URL is none
        self._name = name
        self._url = f"{self.base_url}/chat/completions"
        self._asked = Asked(f"the endpoint {self.base_url}", name, key_name, api_key is not None)
        self._say = say
        self._refused: set[str] = set()
        self._parameters = {"temperature": temperature, "max_tokens": max_tokens}
        self._timeout = timeout
        key = api_key.get_secret_value() if api_key else "no-key"
        headers = {"Authorization": f"Bearer {key}", "User-Agent": f"amemgym/{__version__}"}
        self._client = Client(self.base_url, headers | _account(self.base_url), timeout)

    @property
    def identity(self) -> str:
        return f"openai:{self._name}"

    async def complete(self, request: Request) -> Completion:
        """One chat completion; see `amemgym.errors` for how it can end otherwise."""
        while True:
            parameters = self._optional(request)
            answer = await self._answer(body_of(self._name, request, parameters))
            if answer.is_good:
                return self._completion(request, answer)
            refusal = Refusal.of(answer)
            if (refused := refusal.refuses(parameters)) is None:
                raise refusal.error(self._asked)
            self._drop(refused)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _answer(self, body: bytes) -> Answer:
        where = self._asked.where
        try:
            return await self._client.post(self._url, body)
        except TimeoutError as error:
            raise EndpointUnavailable(f"{where} did not answer within {self._timeout:g} s") from error
        except Unreachable as error:
            raise EndpointUnavailable(
                f"{where} cannot be reached ({error}); check that it runs and that the base URL is right"
            ) from error

    def _optional(self, request: Request) -> dict[str, Any]:
        """The parameters to send that a run can do without."""
        wanted: dict[str, Any] = {name: value for name, value in self._parameters.items() if value is not None}
        if isinstance(request.task, Chat):
            if wants_any_json(request.task):
                wanted["response_format"] = request.task.body["response_format"]
        elif request.task.wants_json:
            wanted["response_format"] = {"type": "json_object"}
        if "max_tokens" in self._refused and "max_tokens" in wanted:
            wanted["max_completion_tokens"] = wanted["max_tokens"]
        return {name: value for name, value in wanted.items() if name not in self._refused}

    def _drop(self, parameter: str) -> None:
        """From now on the parameter is not sent."""
        if parameter not in self._refused:  # concurrent calls learn the same thing at once
            self._refused.add(parameter)
            self._say(f"{self.identity} refuses the parameter {parameter}; it is not sent any more")

    def _completion(self, request: Request, answer: Answer) -> Completion:
        if answer.is_too_long:
            raise self._not_an_endpoint(f"longer than {transport.LONGEST_ANSWER // 1_000_000} MB")
        try:
            reply = read_reply(answer.body)
        except NoCompletion as error:
            raise self._not_an_endpoint(repr(str(error))) from None
        if isinstance(reply, Failure):
            raise Refusal(reply.status, reply.message).error(self._asked)
        if reply.finish == "content_filter":
            raise ContentFiltered(f"the content filter of {self._asked.where} stopped the reply")
        said = "".join([reply.text, *(call.name + call.arguments for call in reply.calls)])
        usage = reply.usage or estimate_usage(request.messages, said)
        if not reply.text and not reply.calls:
            raise NoContent(
                f"{self.identity} answered without content (finish_reason: {reply.finish});"
                " if it reasons before it replies, allow it more with --max-tokens",
                usage,
                reply.finish,
            )
        return Completion(reply.text, usage, reply.finish, calls=reply.calls)

    def _not_an_endpoint(self, said: str) -> NotAnEndpoint:
        return NotAnEndpoint(
            f"{self._asked.where} answered something that is no chat completion ({said});"
            " check that the base URL is an OpenAI-compatible one (it usually ends in /v1)"
        )


def _account(base_url: str) -> dict[str, str]:
    """The headers of OpenAI's own endpoint that the environment sets."""
    if urlsplit(base_url).hostname != urlsplit(DEFAULT_URL).hostname:
        return {}
    values = {header: os.environ.get(variable, "").strip() for header, variable in _ACCOUNT.items()}
    return {header: value for header, value in values.items() if value.isascii() and value.isprintable() and value}
