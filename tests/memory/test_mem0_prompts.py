"""What mem0 asks its model is understood by the offline model: from mem0's own prompt back to what is in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.memory.adapters.mem0 import Mem0Memory
from amemgym.memory.adapters.mem0_shared import conversation_in, package
from amemgym.memory.adapters.mem0_v1 import Mem0V1Memory
from amemgym.messages import Message
from amemgym.tasks import Chat, ExtractFacts, Operation, ReconcileFacts
from tests.memory.mem0s import NAME

TEXTS = st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: text.replace("\r", ""))
BLOCKS = st.lists(TEXTS | st.sampled_from(["```", "    ```\n    []\n    ```", "]\n\n## New Messages\n", "{'id': '0'}"]))


def chat_of(*contents: str) -> Chat:
    roles = ["system", "user"] if len(contents) > 1 else ["user"]
    return Chat({"messages": [{"role": r, "content": c} for r, c in zip(roles, contents, strict=True)]})


@pytest.mark.parametrize("memory", [Mem0Memory, Mem0V1Memory])
def test_a_prompt_of_another_kind_is_not_recognised(memory: Any) -> None:
    for contents in (["Hello"], ["You are a Memory Extractor"], ["You are a smart memory manager", "x"], [""]):
        assert memory.stand_in(chat_of(*contents)) is None
    assert memory.stand_in(Chat({"messages": [{"role": "user", "content": None}]})) is None


def test_messages_are_told_apart_by_the_roles_at_the_start_of_lines() -> None:
    text = "user: One\nand user: two\nassistant: \nuser: Three\n\nsystem: x\n"
    assert conversation_in(text) == (
        Message("user", "One\nand user: two"),
        Message("assistant", ""),
        Message("user", "Three\n"),
        Message("assistant", "x"),
    )
    assert conversation_in("nothing") == ()


@pytest.mark.skipif(NAME != "mem0", reason="a prompt of mem0 2")
@settings(max_examples=30, deadline=None)
@given(said=BLOCKS, stored=BLOCKS)
def test_the_messages_of_an_extraction_are_found_again(said: list[str], stored: list[str]) -> None:
    prompts = package().prompts
    messages = "".join(f"user: {text}\n" for text in said)
    memories = [{"id": str(i), "text": text} for i, text in enumerate(stored)]
    asked = prompts.generate_additive_extraction_prompt(existing_memories=memories, new_messages=messages)
    found = Mem0Memory.stand_in(chat_of(prompts.ADDITIVE_EXTRACTION_PROMPT, asked))
    assert found is not None
    assert isinstance(found.task, ExtractFacts)
    assert found.task.conversation == conversation_in(messages)
    assert json.loads(str(found.word(["a", "b"])))["memory"][1] == {"id": "1", "text": "b", "attributed_to": "user"}
    assert json.loads(str(found.word(None))) == {"memory": []}


@pytest.mark.skipif(NAME != "mem0-v1", reason="a prompt of mem0 1")
@settings(max_examples=30, deadline=None)
@given(stored=BLOCKS, facts=BLOCKS)
def test_the_facts_of_an_update_are_found_again(stored: list[str], facts: list[str]) -> None:
    old = [{"id": str(i), "text": text} for i, text in enumerate(stored)]
    asked = package().prompts.get_update_memory_messages(old, facts)
    found = Mem0V1Memory.stand_in(chat_of(asked))
    assert found is not None
    assert isinstance(found.task, ReconcileFacts)
    assert found.task.stored == tuple(enumerate(stored))
    assert found.task.facts == tuple(facts)


@pytest.mark.skipif(NAME != "mem0-v1", reason="a prompt of mem0 1")
def test_operations_are_worded_as_mem0_1_reads_them() -> None:
    prompts = package().prompts
    asked = prompts.get_update_memory_messages([{"id": "0", "text": "A"}, {"id": "1", "text": "B"}], ["C"])
    found = Mem0V1Memory.stand_in(chat_of(asked))
    assert found is not None
    done = [Operation("update", 0, "A2"), Operation("delete", 1), Operation("keep", 0), Operation("add", None, "C")]
    assert json.loads(str(found.word(done)))["memory"] == [
        {"id": "0", "event": "UPDATE", "text": "A2", "old_memory": "A"},
        {"id": "1", "event": "DELETE", "text": "B"},
        {"id": "0", "event": "NONE", "text": "A"},
        {"id": "5", "event": "ADD", "text": "C"},
    ]
    facts = Mem0V1Memory.stand_in(chat_of(prompts.USER_MEMORY_EXTRACTION_PROMPT, "Input:\nuser: Hello\n"))
    assert facts is not None
    assert facts.task.conversation == (Message("user", "Hello"),)
    assert json.loads(str(facts.word(["a"]))) == {"facts": ["a"]}
    assert Mem0V1Memory.stand_in(chat_of(asked.replace("['C']", "[C]"))) is None, "no literal"
