"""A parameter that a model refuses is dropped from then on, and said once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amemgym.errors import (
    ModelError,
)
from tests.llm.helpers import Outcome, ask, question, reply_to, request_for
from tests.support.mock_openai import (
    Request,
    Response,
    error,
    refuses_parameter,
    sequence,
)


def completion(message: Any, **fields: Any) -> Response:
    """A completion whose message is anything."""
    return Response(body={"object": "chat.completion", "choices": [{"index": 0, "message": message, **fields}]})


# ---- parameters that the model refuses


def refusing(
    *names: str, answer: Callable[[str], Response] = refuses_parameter
) -> Callable[[Request], Response | None]:
    """A model that refuses these parameters, the first that it meets."""

    def responder(request: Request) -> Response | None:
        found = next((name for name in names if name in request.body), None)
        return answer(found) if found else None

    return responder


def sent(outcome: Outcome) -> list[set[str]]:
    return [set(body) - {"model", "messages"} for body in outcome.bodies]


@pytest.mark.parametrize("name", ["temperature", "response_format"])
def test_a_refused_parameter_is_dropped_once_learned(name: str) -> None:
    every = {"temperature", "max_tokens", "response_format"}
    outcome = ask(refusing(name), request_for(question()), request_for(question("And now?")))
    assert sent(outcome) == [every, every - {name}, every - {name}]
    assert outcome.heard.remarks == [f"openai:gpt-x refuses the parameter {name}; it is not sent any more"]
    assert outcome.heard.retries == []  # learning is no failed attempt
    assert outcome.text == '{"answer": 1}'


def test_max_tokens_becomes_max_completion_tokens() -> None:
    outcome = ask(refusing("max_tokens"), *[request_for()] * 2, max_tokens=77)
    assert sent(outcome) == [{"temperature", "max_tokens"}] + [{"temperature", "max_completion_tokens"}] * 2
    assert [body.get("max_completion_tokens") for body in outcome.bodies] == [None, 77, 77]
    assert len(outcome.heard.remarks) == 1 and "max_tokens" in outcome.heard.remarks[0]


def test_a_model_that_refuses_everything_is_still_asked() -> None:
    names = ("max_tokens", "max_completion_tokens", "temperature", "response_format")
    outcome = ask(refusing(*names), *[request_for(question())] * 2)
    assert sent(outcome)[-2:] == [set(), set()]
    assert outcome.server.arrived == len(names) + 2
    assert [remark.split()[4].strip(";") for remark in outcome.heard.remarks] == list(names)


@pytest.mark.parametrize("names", [("temperature",), ("max_tokens", "temperature")])
def test_calls_at_once_learn_once(names: tuple[str, ...]) -> None:
    requests = [request_for(reply_to(str(n))) for n in range(8)]
    outcome = ask(refusing(*names), *requests, at_once=True, delay=0.02)
    assert outcome.server.max_in_flight > 1
    assert len({result.text for result in outcome.results if not isinstance(result, ModelError)}) == 8
    assert len(outcome.heard.remarks) == len(names)
    assert outcome.server.arrived <= 8 * (len(names) + 1)


REFUSALS: dict[str, tuple[Callable[[str], Response], str]] = {
    "OpenAI": (
        lambda name: error(
            400,
            f"Unsupported parameter: '{name}' is not supported with this model. Use 'max_completion_tokens' instead.",
            code="unsupported_parameter",
            param=name,
        ),
        "max_tokens",
    ),
    "OpenAI, a value": (
        lambda name: error(
            400,
            f"Unsupported value: '{name}' does not support 0 with this model. Only the default (1) value is supported.",
            code="unsupported_value",
            param=name,
        ),
        "temperature",
    ),
    "LM Studio": (
        lambda name: Response(400, {"error": f"'{name}.type' must be 'json_schema' or 'text'"}),
        "response_format",
    ),
    "a part of it": (lambda name: error(400, "Wrong.", param=f"{name}.type"), "response_format"),
    "FastAPI": (
        lambda name: Response(422, {"detail": [{"loc": ["body", name], "msg": "extra fields not permitted"}]}),
        "temperature",
    ),
    "plain text": (lambda name: Response(400, f"unknown field {name}"), "max_tokens"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_the_words_of_a_refusal(name: str) -> None:
    answer, parameter = REFUSALS[name]
    outcome = ask(refusing(parameter, answer=answer), request_for(question()))
    assert outcome.text == '{"answer": 1}'
    assert outcome.server.arrived == 2
    assert parameter not in outcome.bodies[-1]
    assert len(outcome.heard.remarks) == 1


@pytest.mark.parametrize("response", [error(500, "temperature"), error(404, "temperature"), error(400, "temperatures")])
def test_what_is_no_refusal_drops_nothing(response: Response) -> None:
    outcome = ask(sequence(response))
    assert isinstance(outcome.error, ModelError)
    assert outcome.server.arrived == 1
    assert outcome.heard.remarks == []
