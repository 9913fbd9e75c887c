"""An adapter in 60 lines: a memory system with a store on disk that calls a model by itself (pip install openai).

amemgym check-memory examples/fact_store.py:FactStore
amemgym run --agents native,rag,examples/fact_store.py:FactStore
"""

import sqlite3
import tempfile
from datetime import datetime
from pathlib import Path

import openai

from amemgym import Item, Memory

PROMPT = "List what the user's message says about the user, one fact a line. Today is {}."


class FactStore(Memory):
    """A model lists facts, SQLite keeps them and finds them by their words."""

    blocking = True  # it waits for a disk and for its model, so it gets a thread
    needs_endpoint = True  # it calls a model by itself: self.tools.endpoint is an address of its own

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()  # of this memory alone: another user has another
        self.db = sqlite3.connect(Path(self.folder.name) / "facts.db", check_same_thread=False)
        self.db.execute("CREATE VIRTUAL TABLE facts USING fts5(text, time UNINDEXED, tokenize='porter')")

    def write(self, messages, now):
        said = "\n".join(message.content for message in messages if message.role == "user")
        address = self.tools.endpoint
        with openai.OpenAI(base_url=address.base_url, api_key=address.api_key) as client:
            asked = [{"role": "system", "content": PROMPT.format(now.date())}, {"role": "user", "content": said}]
            reply = client.chat.completions.create(model=address.model, messages=asked)
        rows = [(line, now.isoformat()) for line in (reply.choices[0].message.content or "").splitlines() if line]
        self.restore([*self.snapshot(), *rows])

    def read(self, query, now, k):
        words = list(dict.fromkeys("".join(c if c.isalnum() else " " for c in query).split()))[:100]
        match = " OR ".join(f'"{word}"' for word in words) or '""'
        found = self.db.execute("SELECT text, time FROM facts WHERE facts MATCH ? ORDER BY rank LIMIT ?", (match, k))
        return [Item(text, datetime.fromisoformat(time)) for text, time in found]

    def snapshot(self):
        return self.db.execute("SELECT text, time FROM facts ORDER BY rowid").fetchall()

    def restore(self, snapshot):
        with self.db:  # one transaction: all of it or nothing
            self.db.execute("DELETE FROM facts")
            self.db.executemany("INSERT INTO facts VALUES (?, ?)", snapshot)

    def clear(self):
        self.restore([])

    def export(self):
        return [Item(text, datetime.fromisoformat(time)) for text, time in self.snapshot()]

    def close(self):
        self.db.close()
        self.folder.cleanup()
