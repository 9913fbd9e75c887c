"""A stand-in for a product, to be examined over HTTP: it needs no model and nothing but Python's standard library.

    python examples/assistant_server.py --port 9000
    amemgym run --agents native,http:http://localhost:9000

It remembers what the user said, recalls the last lines and those that share words with a message, and of given choices
takes the one that shares most words with what it recalls. docs/http-agents.md says what its four calls have to do.
"""

import argparse
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LAST, NEAR = 4, 8  # lines recalled because they are recent, and because they share words
EPISODES: dict[str, dict[int, str]] = {}  # episode → turn → what the user said in it


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.lower()))  # also of values such as by_the_sea


def recall(said: dict[int, str], message: str) -> list[str]:
    """Remembered lines, oldest first."""
    near = sorted(said, key=lambda turn: (len(words(said[turn]) & words(message)), turn))[-NEAR:]
    return [said[turn] for turn in sorted({*near, *sorted(said)[-LAST:]})]


def likeliest(choices: list[str], lines: list[str]) -> int:
    """The choice that shares most words with the lines; a word counts by the last line that has it."""
    weight = {word: number for number, line in enumerate(lines, 1) for word in words(line)}
    return max(range(len(choices)), key=lambda i: sum(weight.get(word, 0) for word in words(choices[i])))


def reply_to(message: str, said: dict[int, str]) -> str:
    if options := re.findall(r"(?m)^\d+: (.+)$", message):
        question = message.split("\n1: ")[0]  # which may tell something too
        return json.dumps({"answer": 1 + likeliest(options, [*recall(said, question), question])})
    if asked := dict(re.findall(r'(?m)^- (\w+): (".+")$', message)):
        values = {name: re.findall(r'"([^"]+)"', listed) for name, listed in asked.items()}
        lines = recall(said, " ".join(asked))
        return json.dumps({name: some[likeliest(some, lines)] for name, some in values.items()})
    return f"I see. You told me before: {recall(said, message)[-1]}" if said else "I see. Tell me more."


def handle(call: str, body: dict) -> tuple[int, dict]:
    """The status and the answer of one call."""
    episode = body["episode"]
    if call == "reset":
        EPISODES[episode] = {}
        return 200, {}
    said = EPISODES.get(episode)
    if said is None or body.get("turn", 1) > len(said) + 1:
        return 409, {"error": "this episode, or a turn of it, is not known here"}
    if call == "listen":
        said[body["turn"]] = "\n".join(m["content"] for m in body["messages"] if m["role"] == "user")
        return 200, {}
    reply = reply_to(body["message"], {turn: line for turn, line in said.items() if turn != body.get("turn")})
    if call == "act":
        said[body["turn"]] = body["message"]  # the same turn again takes the place of what was there
    return 200, {"reply": reply}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        call, body = self.path.strip("/"), json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = handle(call, body) if call in ("reset", "act", "listen", "answer") else (404, {})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *arguments: object) -> None:
        """Say nothing of each call."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=9000, help="0 takes any that is free")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
