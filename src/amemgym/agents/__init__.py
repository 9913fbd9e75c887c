"""Agents: the protocol, the one conversational agent, the black box, the reference agents, and how they are named."""

from amemgym.agents.box import BoxAgent
from amemgym.agents.check import checked
from amemgym.agents.conversational import NO_REPLY, ConversationalAgent, Habits
from amemgym.agents.policy import LONGEST_POLICY, fault_of, read_policy, told
from amemgym.agents.protocol import Agent, Examinee, ExamQuestion, ExamReply, OpenReply, ProbeQuestion, ProbeReply
from amemgym.agents.reference import Cell, Reference, is_reference, reference_agent, reference_names
from amemgym.agents.spec import (
    ASSISTANTS,
    ROOMS,
    AgentSpec,
    Purpose,
    agent_names,
    agent_of_class,
    is_agent_file,
    parse_agent,
    with_numbers,
)
from amemgym.agents.v1config import read_agent_file

__all__ = [
    "ASSISTANTS",
    "LONGEST_POLICY",
    "NO_REPLY",
    "ROOMS",
    "Agent",
    "AgentSpec",
    "BoxAgent",
    "Cell",
    "ConversationalAgent",
    "ExamQuestion",
    "ExamReply",
    "Examinee",
    "Habits",
    "OpenReply",
    "ProbeQuestion",
    "ProbeReply",
    "Purpose",
    "Reference",
    "agent_names",
    "agent_of_class",
    "checked",
    "fault_of",
    "is_agent_file",
    "is_reference",
    "parse_agent",
    "read_agent_file",
    "read_policy",
    "reference_agent",
    "reference_names",
    "told",
    "with_numbers",
]
