import json

import chromadb
from chromadb.utils.embedding_functions import SentenceTransformerEmbeddingFunction


class ChromaRetriever:
    def __init__(self, collection_name, persist_directory):
        self.client = chromadb.PersistentClient(path=persist_directory)
        function = SentenceTransformerEmbeddingFunction(model_name="all-MiniLM-L6-v2")
        self.collection = self.client.get_or_create_collection(name=collection_name, embedding_function=function)

    def add_document(self, note, key):
        written = {name: json.dumps(v) if isinstance(v, list) else str(v) for name, v in note.items()}
        document = f"{note['content']} context: {note['context']} tags: {', '.join(note['tags'])}"
        self.collection.add(documents=[document], metadatas=[written], ids=[key])

    def search(self, query, k):
        return self.collection.query(query_texts=[query], n_results=k)
