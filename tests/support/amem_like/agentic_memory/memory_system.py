"""A small likeness of a-mem 0.2.6: what the adapter uses of it, its imports, and how its prompts look."""

import json
import logging
import uuid
from datetime import datetime

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
        note = {"content": content, "timestamp": time, "last_accessed": datetime.now().strftime("%Y%m%d%H%M")}
        id = id or str(uuid.uuid4())
        head = "Generate a structured analysis of the following content by:\n\n            Content for analysis:\n"
        try:
            analysis = self.llm_controller.llm.get_completion(f"{head}            {content}")
        except Exception as error:
            print(f"Error analyzing content: {error}")
            analysis = {"keywords": [], "context": "General", "tags": []}
        links = self._evolve(content, analysis) if self.retriever.collection.count() else []
        note |= {name: analysis[name] for name in ("keywords", "context", "tags")} | {"links": links}
        self.retriever.add_document(note, id)
        return id

    def _evolve(self, content, analysis):
        found = self.retriever.search(content, 5)
        pairs = zip(found["ids"][0], found["metadatas"][0], strict=True)
        lines = "".join(
            f"memory_id:{key}\ttalk start time:{note['timestamp']}\tmemory content: {note['content']}\tmemory context:"
            f" {note['context']}\tmemory keywords: {note['keywords']}\tmemory tags: {note['tags']}\n"
            for key, note in pairs
        )
        pad = " " * 32
        prompt = (
            f"\n{pad}You are an AI memory evolution agent.\n{pad}The new memory context:\n{pad}{analysis['context']}\n"
            f"{pad}content: {content}\n{pad}keywords: {analysis['keywords']}\n\n{pad}The nearest neighbors memories"
            f" (each line starts with memory_id):\n{pad}{lines}\n\n{pad}Based on this information, determine:\n"
        )
        try:
            decided = self.llm_controller.llm.get_completion(prompt)
        except Exception as error:
            logger.error(f"Error in memory evolution: {error}")
            return []
        return decided["suggested_connections"] if decided["should_evolve"] else []

    def search_agentic(self, query, k):
        if self.retriever.collection.count() == 0:
            return []
        try:
            return [{"id": key} for key in self.retriever.search(query, k)["ids"][0]]
        except Exception as error:
            logger.error(f"Error in search_agentic: {error}")
            return []
