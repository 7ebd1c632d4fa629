"""An endpoint on this machine that answers as a known model would: by the place of the passage with the answer."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], str]


@dataclass
class Model:
    """What the endpoint does.

    curve: log-likelihood per token of an answer by the place (from 0) and the number of passages. without: that of an
    answer whose passage is missing. noise: what a question adds to all of its values. broken: called with the number
    of the request before it is answered; may give another answer.
    """

    curve: Callable[[int, int], float]
    without: float = -5.0
    noise: Callable[[str], float] = lambda question: 0.0
    logprobs: bool = True
    broken: Callable[[int, dict[str, Any]], Answer | None] = lambda number, body: None
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    def value(self, text: str) -> float:
        """Return the log-likelihood per token: the passage with `KEY` is the one that is needed."""
        blocks = re.findall(r"<source_\d+[^>]*>\n(.*?)\n</source_\d+>", text, re.S)
        question = re.search(r"<question>(.*?)</question>", text, re.S)
        place = next((at for at, block in enumerate(blocks) if "KEY" in block), None)
        own = self.noise(question.group(1).strip() if question else "")
        return own + (self.without if place is None else self.curve(place, len(blocks)))

    def completion(self, body: dict[str, Any]) -> Answer:
        if not self.logprobs:
            return 400, {}, json.dumps({"error": {"message": "Only no echo is supported"}})
        text = body["prompt"]
        tokens = re.findall(r"\s*\S{1,3}", text) + re.findall(r"\s+\Z", text)
        assert "".join(tokens) == text
        values: list[float | None] = [self.value(text)] * len(tokens)
        values[0] = None
        shown = {"tokens": [*tokens, " made"], "token_logprobs": [*values, -0.1]}
        choice = {"index": 0, "text": text + " made", "logprobs": shown}
        return 200, {}, json.dumps({"choices": [choice], "usage": {"completion_tokens": 1}})

    def chat(self, body: dict[str, Any]) -> Answer:
        text = "\n".join(one["content"] for one in body["messages"])
        said = "It is the copper kettle [S1]." if self.value(text) > -2.5 else "I do not know."
        return 200, {}, json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]})


@contextmanager
def serving(model: Model) -> Iterator[str]:
    """Give the base URL of an endpoint with the model."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else head and body of an answer wait 40 ms for one another

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with model.lock:
                model.asked.append((self.path, body))
                model.headers.append({name.lower(): value for name, value in self.headers.items()})
                number = len(model.asked)
            answer = model.broken(number, body)
            if answer is None:
                known = {"/v1/completions": model.completion, "/v1/chat/completions": model.chat}
                answer = known[self.path](body) if self.path in known else (404, {}, "{}")
            status, headers, text = answer
            data = text.encode()
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def questions(count: int, passages: int = 9) -> list[dict[str, Any]]:
    """Return rows whose needed passage holds `KEY`."""
    return [
        {
            "id": f"q{number}", "question": f"What does person {number} own?", "answers": ["copper kettle"],
            "passage": f"KEY Person {number} owns a copper kettle and nothing else.",
            "distractors": [f"Note {number}.{at} is about the weather of day {at}." for at in range(passages - 1)],
        }
        for number in range(count)
    ]
