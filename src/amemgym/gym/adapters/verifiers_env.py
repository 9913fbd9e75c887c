"""An environment of `verifiers` (its v1): the model under training is the assistant.

One user is one task. The model talks with the simulated user through all their months, in one conversation. Each exam
question is put to it with the conversation so far before it, as a rollout of its own, so that no question and no answer
stays in what the model goes on with: asking never changes the asked. So an episode has one trace of the conversation,
rewarded with the exam accuracy of the whole episode, and one trace for each question, rewarded with 1 or 0.

The package `amemgym_verifiers` gives these classes the short id that verifiers looks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import aiohttp
from pydantic import ValidationError, model_validator

from amemgym.errors import AMemGymError, UsageError
from amemgym.gym.adapters import missing
from amemgym.gym.adapters.seat import Seat, Shown, find_user, load_users
from amemgym.scenario import Scenario
from amemgym.settings import said_of

try:
    import verifiers.v1 as vf
    from verifiers.v1.dialects.chat import message_to_wire
    from verifiers.v1.utils.loaders import load_environment as load
except ImportError as error:
    raise missing("the verifiers environment", "verifiers", error) from None

#: the id of the taskset
ID = "amemgym-verifiers"


class AMemGymConfig(vf.TasksetConfig):
    """What is played."""

    data: str = "starter"
    """A data set's name or path."""
    users: int | None = None
    """Only the first users."""
    periods: int | None = None
    """Only the first periods."""
    seed: int = 0
    """Decides the order of the options."""
    user_model: str = "offline"
    """The simulated user's model (`offline`, `openai:<name>`)."""
    protocol: str = "amemgym"
    """`amemgym` or `v1`."""
    rounds_initial: int = 1
    """Rounds of a session in period 0."""
    rounds_later: int = 2
    """Rounds of a session in later periods."""
    language: str = "en"
    """Of the prompts."""

    @model_validator(mode="after")
    def _playable(self) -> Self:
        """What is wrong is told before anything is played, in a sentence, which `vf-eval` ends with."""
        try:
            load_users(self.data, self.users, self.periods)
            self.seat().close()
        except AMemGymError as error:
            raise ValueError(str(error)) from None
        return self

    def seat(self) -> Seat:
        """A seat with these settings. Raises UsageError."""
        return Seat(
            self.user_model,
            protocol=self.protocol,
            rounds_initial=self.rounds_initial,
            rounds_later=self.rounds_later,
            language=self.language,
        )


class AMemGymData(vf.TaskData):
    """Which user; it stands in every trace, so it holds nothing of the user's scenario."""

    user: str


class AMemGymTask(vf.Task[AMemGymData]):
    """An episode, or one question of it. Rewards are recorded by the environment, which grades the replies."""


class AMemGymTaskset(vf.Taskset[AMemGymTask, AMemGymConfig]):
    """A task for each user of a data set."""

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        return load_users(self.config.data, self.config.users, self.config.periods)

    def load(self) -> Iterator[AMemGymTask]:
        with self.config.seat() as seat:
            instructions = seat.instructions
        for scenario in self.scenarios:
            data = AMemGymData(name=scenario.id, user=scenario.id, prompt=None, system_prompt=instructions)
            yield AMemGymTask(data, self.config.task)


class AMemGymHarness(vf.Harness[vf.HarnessConfig]):
    """One chat completion, asked in this process. The chat programs that verifiers ships are scripts that it has `uv`
    install and start anew for each turn; an episode has a hundred of them."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages += [message_to_wire(message) for message in prompt]
        body = {"model": ctx.model, "messages": messages}
        headers = {"Authorization": f"Bearer {secret}"}
        unlimited = aiohttp.ClientTimeout(total=None)  # verifiers sets the limits, and takes the reply to the trace
        async with (
            aiohttp.ClientSession(headers=headers, timeout=unlimited, raise_for_status=True) as session,
            session.post(f"{endpoint}/chat/completions", json=body) as response,
        ):
            await response.read()
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


class AMemGymEnvConfig(vf.EnvConfig):
    """The environment's settings; `assistant` is the model under training."""

    assistant: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class AMemGymEnv(vf.Env[AMemGymEnvConfig]):
    """An episode: months of conversation, and an exam after each period."""

    async def run(self, task: AMemGymTask, agents: vf.Agents) -> None:
        config = self.taskset.config
        scenario = find_user(self.taskset.scenarios, task.data.user)
        with config.seat() as seat:
            async with agents.assistant.interaction(task) as talk:
                shown = await asyncio.to_thread(seat.reset, scenario, config.seed)
                while not shown.done:
                    asked = await self._ask(task, agents, talk, shown) if shown.kind == "exam" else None
                    reply = await self._say(talk, shown) if asked is None else asked.last_reply
                    shown = await asyncio.to_thread(seat.reply, reply)
                    if asked is not None and shown.reward is not None:
                        asked.record_reward("right", shown.reward)
                        asked.info["status"] = shown.status
            talk.trace.record_reward("exam_accuracy", seat.right / seat.questions)
            talk.trace.record_metric("questions", seat.questions)

    async def _say(self, talk: vf.Interaction, shown: Shown) -> str:
        segment = await talk.turn(shown.text)
        if segment.terminated:
            raise _unfinished(f"the conversation ended in period {shown.period}, before its last exam", talk.trace)
        return str(segment.last_reply)

    async def _ask(self, task: AMemGymTask, agents: vf.Agents, talk: vf.Interaction, shown: Shown) -> vf.Trace:
        """The trace of one question's rollout, which has the conversation so far and leaves it as it is."""
        said = [message for message in talk.trace.branches[-1].messages if message.role != "system"]
        trace = await agents.assistant.run(task.with_data(prompt=[*said, vf.UserMessage(content=shown.text)]))
        if not trace.ok or not trace.num_turns:
            raise _unfinished(f"a question of the exam after period {shown.period} got no reply", trace)
        return trace


def _unfinished(what: str, trace: vf.Trace) -> Exception:
    """An episode that did not come to its end has no score: what was not answered is neither right nor wrong."""
    why = trace.errors[-1].message if trace.errors else trace.stop_condition
    error: Exception = vf.EnvError(f"{what} ({why}); the episode has no score")
    return error


def load_environment(data: str = "starter", **settings: Any) -> vf.Env:
    """The environment with a data set and other settings of `AMemGymConfig`. Raises UsageError."""
    try:
        return load(AMemGymEnvConfig(taskset={"id": ID, "data": data, **settings}))
    except ValidationError as error:
        ours = error.errors()[0].get("ctx", {}).get("error")
        raise UsageError(str(ours or f"verifiers environment: {said_of(error)}")) from None
