"""The extra `hf`: counts with a Hugging Face tokenizer, from its `tokenizer.json` or the object itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from promptpack.errors import OptionError, TokenizerError, quote
from promptpack.tokens.base import BaseCounter
from promptpack.tokens.cutting import grapheme_ceil, grapheme_floor, origin
from promptpack.wellformed import repaired

COUNTER_FILE = ".json"  # a counter's name that ends so is the path of a tokenizer.json
_ROUNDS = 8  # cuts by the tokens' offsets before the search bisects instead


def is_tokenizer(value: object) -> bool:
    """Tell whether a value looks like a tokenizer of the packages tokenizers or transformers.

    >>> is_tokenizer(len)
    False
    """
    if isinstance(value, type):
        return False
    encodes = callable(getattr(value, "encode", None))
    return encodes and (hasattr(value, "token_to_id") or hasattr(value, "convert_tokens_to_ids"))


def hf_counter(tokenizer: Any, *, name: str | None = None) -> BaseCounter:
    """Return a counter that counts exactly as a Hugging Face tokenizer does.

    tokenizer: the path of a `tokenizer.json` (str or pathlib.Path), a `tokenizers.Tokenizer`, or a tokenizer of
    transformers, fast or slow. name: how the report calls it; without one the file's folder, or the object's own name.

    No token is added at the start or the end, text that spells a special token is plain text, truncation, padding and
    random merges are off: the counter works on a copy, and what was given is not changed. Lone surrogates count as
    U+FFFD. Nothing is known of where its counts add up, so a payload is counted as a whole (`additive` is False).

    A file is read on the first count; one path gives one counter, until the file changes. Raises TokenizerError where
    it is missing or damaged, or the extra `hf` is missing; OptionError for a value that is no tokenizer.
    """
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise OptionError(f"name: expected a text, got {quote(name)}", name="name", given=name)
    if isinstance(tokenizer, str | Path):
        return file_counter(str(tokenizer)) if name is None else HfFileCounter(str(tokenizer), name)
    if not is_tokenizer(tokenizer):
        raise OptionError(
            f"tokenizer: expected the path of a tokenizer.json or a tokenizer, got {quote(tokenizer)}",
            name="tokenizer", given=tokenizer,
        )
    own = getattr(tokenizer, "name_or_path", None)
    named = name or (own if isinstance(own, str) and own else type(tokenizer).__name__)
    # transformers' fast tokenizers hold one of the package tokenizers
    inner = getattr(tokenizer, "backend_tokenizer", None) or getattr(tokenizer, "_tokenizer", None) or tokenizer
    if hasattr(inner, "to_str"):
        return HfCounter(inner.to_str(), named)
    return SlowCounter(tokenizer, named)


class HfCounter(BaseCounter):
    """Counts with the tokenizer that a `tokenizer.json` describes; build it with `hf_counter`."""

    __slots__ = ("_json", "_tokenizer")

    def __init__(self, json: str, name: str) -> None:
        super().__init__(name, exact=True, additive=False, uniform_digits=False)
        self._json = json
        self._tokenizer: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return HfCounter, (self._json, self.name)

    def _text(self) -> str:
        return self._json

    def _ready(self) -> Any:
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = _load(self._text(), self.name)
            return self._tokenizer

    def _encode(self, text: str) -> Any:
        tokenizer = self._tokenizer or self._ready()
        return tokenizer.encode(text, add_special_tokens=False)

    def _measure(self, text: str) -> int:
        return len(self._encode(repaired(text)))

    def _start(self, text: str, limit: int) -> str:
        clean = repaired(text)
        end = _first_end(clean, limit, self._encode)
        kept = clean[:end]
        for _ in range(_ROUNDS):
            if self._measure(kept) <= limit:
                return text[: origin(text, clean, len(kept))]
            shorter = _first_end(kept, limit, self._encode)
            kept = kept[: min(shorter, grapheme_floor(kept, len(kept) - 1))]
        return super()._start(text[: origin(text, clean, len(kept))], limit)

    def _end(self, text: str, limit: int) -> str:
        clean = repaired(text)
        kept = clean[_last_start(clean, limit, self._encode):]
        for _ in range(_ROUNDS):
            if self._measure(kept) <= limit:
                return text[origin(text, clean, len(clean) - len(kept)):]
            later = _last_start(kept, limit, self._encode)
            kept = kept[max(later, grapheme_ceil(kept, 1)):]
        return super()._end(text[origin(text, clean, len(clean) - len(kept)):], limit)


class HfFileCounter(HfCounter):
    """Counts with the tokenizer of a `tokenizer.json`, read on the first count; build it with `hf_counter`."""

    __slots__ = ("_path",)

    def __init__(self, path: str, name: str | None = None) -> None:
        file = Path(path)
        # the files are all called tokenizer.json: their folder is what tells them apart
        super().__init__("", name or file.parent.name or file.name)
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return HfFileCounter, (self._path, self.name)

    def _text(self) -> str:
        return _read(self._path)


class SlowCounter(BaseCounter):
    """Counts with a tokenizer that has only `encode(text, add_special_tokens=False)`, as the slow ones of transformers.

    Text that spells a special token counts as that tokenizer counts it.
    """

    __slots__ = ("_tokenizer",)

    def __init__(self, tokenizer: Any, name: str) -> None:
        super().__init__(name, exact=True, additive=False, uniform_digits=False)
        self._tokenizer = tokenizer

    def __reduce__(self) -> tuple[Any, ...]:
        return SlowCounter, (self._tokenizer, self.name)

    def _measure(self, text: str) -> int:
        ids = self._tokenizer.encode(repaired(text), add_special_tokens=False)
        if not isinstance(ids, Sequence) or isinstance(ids, str):
            raise TokenizerError(
                f"counter {quote(self.name)}: its tokenizer's encode must return a list of ids, not {quote(ids)}",
                name=self.name,
            )
        return len(ids)


@lru_cache(maxsize=32)
def _file_counter(path: str, changed: tuple[int, int] | None) -> HfFileCounter:
    return HfFileCounter(path)


def file_counter(path: str) -> HfFileCounter:
    """Return the counter of a `tokenizer.json`: the same object for a path, until the file changes.

    >>> file_counter("no/such/tokenizer.json") is file_counter("no/such/tokenizer.json")
    True
    """
    try:
        found = Path(path).stat()
        changed = (found.st_mtime_ns, found.st_size)
    except (OSError, ValueError):  # told on the first count
        changed = None
    return _file_counter(path, changed)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # not there; not UTF-8, or a NUL in the path
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise TokenizerError(
            f"counter {quote(path, 200)}: the file cannot be read ({why}). Expected a tokenizer.json.", name=path
        ) from error


def _load(json: str, name: str) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise TokenizerError(
            f"counter {quote(name)}: the extra 'hf' cannot be loaded ({error}). Remedies: "
            'pip install "promptpack-rag[hf]", or count with counter=\'estimate\', which marks the budget as not '
            "exact.",
            name=name,
        ) from error
    try:
        tokenizer = Tokenizer.from_str(json)
    except Exception as error:  # tokenizers raises a bare Exception for all it cannot read
        raise TokenizerError(
            f"counter {quote(name)}: this is no tokenizer.json that tokenizers can read ({str(error)[:200]})", name=name
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # text that spells a special token is plain text
    if getattr(tokenizer.model, "dropout", None):  # random merges, meant for training: a count is the same each time
        tokenizer.model.dropout = None
    return tokenizer


def _first_end(text: str, limit: int, encode: Callable[[str], Any]) -> int:
    """Return where the first `limit` tokens end, moved down to a grapheme boundary; only the start is tokenised."""
    reach = 8 * limit + 64
    while True:
        offsets = encode(text[:reach]).offsets
        if len(offsets) > limit:
            return grapheme_floor(text, max((end for _, end in offsets[:limit]), default=0))
        if reach >= len(text):
            return len(text)
        reach *= 4


def _last_start(text: str, limit: int, encode: Callable[[str], Any]) -> int:
    """Return where the last `limit` tokens begin, moved up to a grapheme boundary."""
    reach = 8 * limit + 64
    while True:
        begin = max(0, len(text) - reach)
        offsets = encode(text[begin:]).offsets
        if len(offsets) > limit:
            first = min((start for start, _ in offsets[len(offsets) - limit:]), default=len(text) - begin)
            return grapheme_ceil(text, begin + first)
        if begin == 0:
            return 0
        reach *= 4
