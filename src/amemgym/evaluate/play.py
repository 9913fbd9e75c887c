"""Playing one episode: the conversation goes on while the exams of past periods are answered beside it.

On-policy, the agent replies to the simulated user and its replies shape the conversation. Off-policy, it is given a
conversation that another agent had, and only remembers. Both are examined the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from amemgym.agents import Agent
from amemgym.env import Episode, UserTurn
from amemgym.evaluate.coach import Coach
from amemgym.evaluate.examine import Examiner, Seat, Texts, blaming
from amemgym.evaluate.results import Conversation, EpisodeResult
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import Line, TimedRoom, at, round_name
from amemgym.messages import TIME_FORMAT, Message
from amemgym.scenario import Scenario, parse_time
from amemgym.together import Room, first_failure


async def play(
    seat: Seat,
    scenario: Scenario,
    agent: Agent,
    episode: Episode,
    line: Line,
    seed: int,
    watcher: RunWatcher,
    *,
    probing: bool = True,
    recorded: Conversation | None = None,
    coach: Coach | None = None,
    room: Room | None = None,
) -> EpisodeResult:
    """Play a whole episode: on-policy, or off-policy over a `recorded` conversation of this scenario. A `coach` says
    what the agent is to remember, period by period. As many questions are asked at once as there is `room` for.

    Raises ModelError, AgentFailed or StorageError; the journal keeps what was done.
    """
    conversation: Conversation
    if room is not None and line.stopwatch is not None:
        room = TimedRoom(room, line.stopwatch)
    try:
        async with asyncio.TaskGroup() as group:
            examiner = Examiner(seat, agent, episode, group, watcher, probing, coach, room)
            if recorded is None:
                conversation = await _converse(seat, scenario, agent, episode, seed, examiner, watcher, coach)
            else:
                conversation = recorded
                await episode.reset(scenario, seed)
                await _listen(seat, scenario, agent, episode, recorded, examiner, watcher, coach)
    except BaseExceptionGroup as group_error:
        # one failed call cancels the rest of its episode; the first failure says why
        raise first_failure(group_error) from group_error
    texts = Texts()
    exams, probes, holdings = examiner.results(texts)
    return EpisodeResult(
        agent=seat.agent,
        user=seat.user,
        user_id=scenario.id,
        trial=seat.trial,
        exams=exams,
        probes=probes,
        conversation=conversation,
        holdings=holdings,
        texts=texts.all(),
        held=tuple(None if held is None else len(held) for held in holdings),
        spoken=tuple(accumulate(sum(map(len, period)) for period in conversation)),
        ledger={role: count.as_dict() for role, count in sorted(line.ledger.items())},
        dropped=agent.dropped,
    )


async def _converse(
    seat: Seat,
    scenario: Scenario,
    agent: Agent,
    episode: Episode,
    seed: int,
    examiner: Examiner,
    watcher: RunWatcher,
    coach: Coach | None,
) -> Conversation:
    """The conversation that agent and simulated user have."""
    step = await episode.reset(scenario, seed)
    adopted = -1
    while (seen := step.observation) is not None:
        if coach is not None and seen.period > adopted:  # also where a period has no session
            agent.adopt(await coach.policy(seen.period))
            adopted = seen.period
        if isinstance(seen, UserTurn):
            with at(round_name(seen.period, seen.session, seen.round)), blaming(seat, seen.period):
                reply = await agent.reply(seen.message)
            watcher.turned()
            step = await episode.step(reply.content)
        else:
            period, step = episode.pass_exam()
            await examiner.examine(period)
    return [[[_said(m) for m in session] for session in period] for period in episode.conversation]


async def _listen(
    seat: Seat,
    scenario: Scenario,
    agent: Agent,
    episode: Episode,
    recorded: Conversation,
    examiner: Examiner,
    watcher: RunWatcher,
    coach: Coach | None,
) -> None:
    """The agent takes in a recorded conversation, turn by turn."""
    for period in range(len(scenario.periods)):
        if coach is not None:
            agent.adopt(await coach.policy(period))
        for number, session in enumerate(recorded[period]):
            for round_, turn in enumerate(turns(session)):
                with at(round_name(period, number, round_)), blaming(seat, period):
                    await agent.listen([_heard(message) for message in turn])
                watcher.turned()
        await examiner.examine(period)


def turns(session: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """A session's messages by turns: each begins with what the user says."""
    found: list[list[dict[str, Any]]] = []
    for message in session:
        if message["role"] == "user" or not found:
            found.append([])
        found[-1].append(message)
    return found


def _said(message: Message) -> dict[str, str | None]:
    time = message.time.strftime(TIME_FORMAT) if message.time else None
    return {"role": message.role, "content": message.content, "time": time}


def _heard(message: dict[str, Any]) -> Message:
    time = parse_time(message["time"]) if message.get("time") else None
    return Message(message["role"], message["content"], time)
