"""An assistant as a black box: any product behind an address, which has a window, a memory and a model of its own.

Nothing is known of it but what it says. It cannot be copied, so what asks it for the exam asks the assistant itself,
and the conversation waits meanwhile; what is asked comes by a call after which the assistant has to remember nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from amemgym.agents.conversational import NO_REPLY
from amemgym.agents.protocol import Examinee, ExamQuestion, ExamReply, OpenReply, ProbeQuestion, ProbeReply
from amemgym.errors import RequestRefused
from amemgym.llm import Model
from amemgym.memory import Item
from amemgym.messages import Message
from amemgym.tasks import Act, Ask, ChooseOption, Context, Listen, ProbeStates, Reply, Turn


class BoxAgent:
    """See the module's docstring. `episode` is a name that no other episode of the run has."""

    #: what falls out of its context, if anything does, cannot be seen
    dropped = 0
    waits_for_exams = True

    def __init__(self, model: Model, episode: str, turns: Sequence[Turn] = ()) -> None:
        self._model = model
        self._episode = episode
        self._turns = list(turns)

    def adopt(self, policy: str) -> None:
        return None

    async def reply(self, message: Message) -> Message:
        answer = await self._model.ask(Act(self._episode, tuple(self._turns), message))
        # its own words are what it remembers, and what it is told again where it has lost them
        self._turns.append((message, Message("assistant", answer.text, message.time)))
        return Message("assistant", answer.value or NO_REPLY, message.time)

    async def listen(self, messages: Sequence[Message]) -> None:
        heard = tuple(messages)
        await self._model.ask(Listen(self._episode, tuple(self._turns), heard))
        self._turns.append(heard)

    async def conclude(self) -> None:
        """How it parts conversations is its own matter."""

    async def freeze(self) -> Callable[[], Awaitable[Examinee]]:
        turns = tuple(self._turns)

        async def examinee() -> Examinee:
            return BoxAgent(self._model, self._episode, turns)

        return examinee

    async def answer(self, question: ExamQuestion) -> ExamReply:
        """Answer an exam question. Only ever called on what `freeze` gives."""
        task = ChooseOption(question.query, question.options, Context(), question.now)
        answer = await self._model.ask(Ask(self._episode, tuple(self._turns), task, question.now))
        return ExamReply(answer.value, answer.status, answer.text)

    async def probe(self, question: ProbeQuestion) -> ProbeReply:
        """Say what values variables have now. Only ever called on what `freeze` gives."""
        task = ProbeStates(question.variables, Context(), question.now)
        answer = await self._model.ask(Ask(self._episode, tuple(self._turns), task, question.now))
        return ProbeReply(answer.value or dict.fromkeys(question.variables), answer.status, answer.text)

    async def respond(self, prompt: Sequence[Message], query: str | None = None) -> OpenReply:
        """Reply to a prompt. Only ever called on what `freeze` gives. What it searches for is its own matter."""
        if len(prompt) != 1:
            raise RequestRefused(f"an assistant at an address is asked one message, and the prompt has {len(prompt)}")
        task = Reply(Context((), tuple(prompt)))
        answer = await self._model.ask(Ask(self._episode, tuple(self._turns), task, prompt[0].time))
        return OpenReply(answer.value, answer.status)

    async def holdings(self) -> list[Item] | None:
        return None

    async def aclose(self) -> None:
        """The server lets go of an episode when it likes."""
