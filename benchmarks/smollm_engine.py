"""A small llama model of a GGUF file on OpenVINO: tokens, a cache of what was read, log-probabilities.

What flows from layer to layer is kept in 32 bits. Products are taken in bfloat16 where the processor has units for it
(AMX, AVX-512 BF16), else, and for `exact`, in 32 bits; engines for four-bit weights round activations to eight bits.
It reads some ten times as many tokens in a second as a llama.cpp that is built for any processor. `smollm.py check`
sets the two side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as op
from gguf import GGUFReader, dequantize
from tiktoken import Encoding

STEP = 64       # sizes are filled up to its multiples: code is made for each size that comes up
Array = Any
Run = Callable[..., list[Array]]
# Digits stand alone, else as GPT-2 splits: what the file calls "smollm".
SPLIT = r"'(?:[sdmt]|ll|ve|re)|\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+"


class Model:
    """The weights and the vocabulary, compiled; `readers` is how many prompts it can read at once."""

    def __init__(self, path: Path, readers: int = 1, *, exact: bool = False) -> None:
        file = GGUFReader(path)
        tensors = {one.name: one for one in file.tensors}
        held = {name: field.contents() for name, field in file.fields.items()}
        if held["general.architecture"] != "llama" or held["tokenizer.ggml.pre"] != "smollm":
            raise ValueError(f"{path}: not a model of the family that this engine knows")

        def get(name: str) -> Array:
            one = tensors[f"{name}.weight"]
            return np.ascontiguousarray(dequantize(one.data, one.tensor_type), np.float32)

        core = ov.Core()
        able = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        self.precision = "bf16" if able and not exact else "f32"
        self._options = {
            "INFERENCE_PRECISION_HINT": self.precision, "INFERENCE_NUM_THREADS": readers, "NUM_STREAMS": readers,
            "ENABLE_CPU_PINNING": False,
        }
        self._core = core
        self.heads, self.groups = held["llama.attention.head_count"], held["llama.attention.head_count_kv"]
        self.width = held["llama.rope.dimension_count"]
        self.epsilon = held["llama.attention.layer_norm_rms_epsilon"]
        half = np.arange(self.width // 2) * 2 / self.width
        self.speeds = held["llama.rope.freq_base"] ** -half
        self.table = get("token_embd")
        blocks = [f"blk.{at}." for at in range(held["llama.block_count"])]
        self.attention = [self._attention(get, name) for name in blocks]
        self.forward = [self._forward(get, name) for name in blocks]
        state = op.parameter([-1, self.table.shape[1]], np.float32)
        self.ending = self._compiled([_times(self._normal(state), self.table * get("output_norm"))], [state])
        self.eos = held["tokenizer.ggml.eos_token_id"]
        self.encoding = _encoding(held["tokenizer.ggml.tokens"], held["tokenizer.ggml.token_type"])

    def _compiled(self, results: list[Any], inputs: list[Any]) -> Any:
        return self._core.compile_model(ov.Model(results, inputs), "CPU", self._options)

    def _normal(self, state: Any) -> Any:
        """Return rows with a mean square of 1; the factors of the norm stand in the matrix behind it."""
        square = op.reduce_mean(op.multiply(state, state), op.constant([1]), keep_dims=True)
        return op.divide(state, op.sqrt(op.add(square, op.constant(np.float32(self.epsilon)))))

    def _attention(self, get: Callable[[str], Array], name: str) -> Any:
        """Compile what attention adds to a state, and the keys and values of the positions that are new."""
        heads, groups, width = self.heads, self.groups, self.width
        norm = get(f"{name}attn_norm")
        # The file turns neighbouring numbers of a head; here halves are turned, which is the same in another order.
        q, k = (_halves(get(f"{name}attn_{one}"), width) for one in "qk")
        state = op.parameter([-1, norm.shape[0]], np.float32)
        cos, sin = (op.parameter([-1, 1, width // 2], np.float32) for _ in range(2))
        keys, values = (op.parameter([groups, 1, -1, width], np.float32) for _ in range(2))
        mask = op.parameter([1, 1, -1, -1], np.float32)
        mixed = _times(self._normal(state), np.concatenate([q, k, get(f"{name}attn_v")]) * norm)
        rows = op.reshape(mixed, op.constant([0, heads + 2 * groups, width]), True)
        asked, new, held = op.variadic_split(rows, op.constant(1), op.constant([heads, groups, groups])).outputs()
        asked, new = (_turned(one, cos, sin) for one in (asked, new))
        # (position, group * each, width) to (group, 1, each * position, width): heads of a group share keys.
        asked = op.reshape(asked, op.constant([0, groups, heads // groups, width]), True)
        asked = op.reshape(op.transpose(asked, op.constant([1, 2, 0, 3])), op.constant([groups, 1, -1, width]), False)
        new, held = (op.unsqueeze(op.transpose(one, op.constant([1, 0, 2])), op.constant(1)) for one in (new, held))
        mean = op.scaled_dot_product_attention(
            asked, op.concat([keys, new], 2), op.concat([values, held], 2), mask, op.constant(np.float32(width**-0.5))
        )
        mean = op.reshape(mean, op.constant([groups, heads // groups, -1, width]), False)
        mean = op.reshape(op.transpose(mean, op.constant([2, 0, 1, 3])), op.constant([-1, heads * width]), False)
        return self._compiled(
            [_times(mean, get(f"{name}attn_output")), new, held], [state, cos, sin, keys, values, mask]
        )

    def _forward(self, get: Callable[[str], Array], name: str) -> Any:
        norm = get(f"{name}ffn_norm")
        state = op.parameter([-1, norm.shape[0]], np.float32)
        normal = self._normal(state)
        gate, up = (_times(normal, get(f"{name}ffn_{one}") * norm) for one in ("gate", "up"))
        return self._compiled([_times(op.multiply(op.swish(gate), up), get(f"{name}ffn_down"))], [state])


def _times(state: Any, matrix: Array) -> Any:
    return op.matmul(state, op.constant(matrix), False, True)


def _turned(rows: Any, cos: Any, sin: Any) -> Any:
    """Return the heads of each position, turned by it."""
    a, b = op.split(rows, op.constant(2), 2).outputs()
    first = op.subtract(op.multiply(a, cos), op.multiply(b, sin))
    return op.concat([first, op.add(op.multiply(a, sin), op.multiply(b, cos))], 2)


def _halves(matrix: Array, width: int) -> Array:
    return matrix.reshape(-1, width // 2, 2, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def _encoding(tokens: list[str], kinds: list[int]) -> Encoding:
    """Return the tokenizer; the file's tokens stand in the order of its merges, as tiktoken wants them."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]   # bytes that GPT-2 writes as themselves
    others = [one for one in range(256) if one not in shown]
    byte = {chr(one): one for one in shown} | {chr(256 + at): one for at, one in enumerate(others)}
    pairs = list(enumerate(zip(tokens, kinds, strict=True)))
    return Encoding(
        "smollm", pat_str=SPLIT,
        mergeable_ranks={bytes(byte[sign] for sign in text): at for at, (text, kind) in pairs if kind == 1},
        special_tokens={text: at for at, (text, kind) in pairs if kind == 3},
    )


class Reader:
    """What one prompt after another is read with; the start that two of them share is read once."""

    def __init__(self, model: Model, context: int) -> None:
        self.model = model
        shape = (len(model.attention), model.groups, 1, context, model.width)
        self.keys, self.values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        turns = np.arange(context + STEP)[:, None, None] * model.speeds
        self.cos, self.sin = np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)
        self.attention, self.forward = ([_run(one) for one in own] for own in (model.attention, model.forward))
        self.ending = _run(model.ending)
        self.read: list[int] = []

    def shared(self, tokens: list[int]) -> int:
        """Return how many tokens at the start are those of the last prompt."""
        pairs = enumerate(zip(self.read, tokens, strict=False))
        return next((at for at, (own, given) in pairs if own != given), min(len(self.read), len(tokens)))

    def scores(self, tokens: list[int], tail: int) -> Array:
        """Read the tokens; return the log-probabilities of all that could follow each one from `tail` on."""
        past = min(self.shared(tokens), tail)
        self.read = []  # an end half-way leaves nothing that could be trusted
        count = len(tokens) - past
        size, known = _filled(count), _filled(past)
        mask = np.zeros((size, known + size), np.float32)
        mask[:, past:known] = -np.inf
        mask[:, known:] = np.triu(np.full((size, size), -np.inf, np.float32), 1)
        mask = np.tile(mask, (self.model.heads // self.model.groups, 1))[None, None]
        state = self.model.table[[*tokens[past:], *[0] * (size - count)]]
        cos, sin = self.cos[past:past + size], self.sin[past:past + size]
        for keys, values, attention, forward in zip(
            self.keys, self.values, self.attention, self.forward, strict=True
        ):
            before = (np.ascontiguousarray(one[:, :, :known]) for one in (keys, values))
            added, *found = attention(state, cos, sin, *before, mask)
            for own, new in zip((keys, values), found, strict=True):
                own[:, :, past:past + count] = new[:, :, :count]
            state = state + added
            state = state + forward(state)[0]
        self.read = list(tokens)
        scores = self.ending(state[tail - past:count])[0].astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def _filled(count: int) -> int:
    return -(-count // STEP) * STEP


def _run(compiled: Any) -> Run:
    request = compiled.create_infer_request()

    def run(*given: Array) -> list[Array]:
        return list(request.infer(list(given), share_inputs=True, share_outputs=True).values())

    return run
