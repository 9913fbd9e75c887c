"""A small likeness of a-mem 0.2.6: what the adapter uses of it, its imports, and how its prompts look."""

import json
import logging
import uuid
from datetime import datetime
from types import SimpleNamespace

from litellm import completion  # noqa: F401
from sentence_transformers import SentenceTransformer  # noqa: F401

from .retrievers import ChromaRetriever

logger = logging.getLogger(__name__)


class Controller:
    def __init__(self, model, api_key):
        from openai import OpenAI

        self.model, self.client = model, OpenAI(api_key=api_key)

    def get_completion(self, prompt):
        system = {"role": "system", "content": "You must respond with a JSON object."}
        reply = self.client.chat.completions.create(
            model=self.model,
            messages=[system, {"role": "user", "content": prompt}],
            response_format={"type": "json_object"},
            temperature=1.0,
        )
        return json.loads(reply.choices[0].message.content)


class LLMController:
    def __init__(self, model, api_key):
        self.llm = Controller(model, api_key)


class AgenticMemorySystem:
    def __init__(self, llm_model, api_key, enable_cache, storage_path="./chroma_db"):
        self.retriever = ChromaRetriever("memories", storage_path)
        self.llm_controller = LLMController(llm_model, api_key)

    def add_note(self, content, time=None, id=None):
        note = SimpleNamespace(content=content, timestamp=time, last_accessed=datetime.now().strftime("%Y%m%d%H%M"))
        analysis = self.analyze_content(content)
        note.keywords, note.tags = analysis.get("keywords", []), analysis.get("tags", [])
        note.context, note.links = analysis.get("context", "General"), []
        _, note = self.process_memory(note)
        id = id or str(uuid.uuid4())
        self.retriever.add_document(vars(note), id)
        return id

    def analyze_content(self, content):
        head = "Generate a structured analysis of the following content by:\n\n            Content for analysis:\n"
        try:
            return self.llm_controller.llm.get_completion(f"{head}            {content}")
        except Exception as error:
            print(f"Error analyzing content: {error}")
            return {"keywords": [], "context": "General", "tags": []}

    def process_memory(self, note):
        if self.retriever.collection.count() == 0:
            return False, note
        found = self.retriever.search(note.content, 5)
        pairs = zip(found["ids"][0], found["metadatas"][0], strict=True)
        lines = "".join(
            f"memory_id:{key}\ttalk start time:{near['timestamp']}\tmemory content: {near['content']}\tmemory context:"
            f" {near['context']}\tmemory keywords: {near['keywords']}\tmemory tags: {near['tags']}\n"
            for key, near in pairs
        )
        pad = " " * 32
        prompt = (
            f"\n{pad}You are an AI memory evolution agent.\n{pad}The new memory context:\n{pad}{note.context}\n"
            f"{pad}content: {note.content}\n{pad}keywords: {note.keywords}\n\n{pad}The nearest neighbors memories"
            f" (each line starts with memory_id):\n{pad}{lines}\n\n{pad}Based on this information, determine:\n"
        )
        try:
            decided = self.llm_controller.llm.get_completion(prompt)
            if decided["should_evolve"]:
                note.links.extend(decided["suggested_connections"])
                note.tags = decided["tags_to_update"]
        except Exception as error:
            logger.error(f"Error in memory evolution: {error}")
        return False, note

    def search_agentic(self, query, k):
        if self.retriever.collection.count() == 0:
            return []
        try:
            found = self.retriever.search(query, k)
            {link for note in found["metadatas"][0] for link in json.loads(note["links"])}  # it follows them
            return [{"id": key} for key in found["ids"][0]]
        except Exception as error:
            logger.error(f"Error in search_agentic: {error}")
            return []
