"""The extra `models`: vocabularies of other model families, offline, from splintr-rs."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from promptpack.errors import TokenizerError
from promptpack.tokens.base import BaseCounter
from promptpack.tokens.boundary import parts
from promptpack.wellformed import repaired

# Texts of this many characters are counted in parts, where counts add up.
LONG = 250_000


class Family(NamedTuple):
    """A vocabulary of splintr and what its counts are good for.

    exact: the counts were compared with those of another implementation. additive: byte-level, not
    SentencePiece. uniform_digits: every group of digits that the pattern forms is one token. nfc: the model's
    tokenizer normalises its text first.
    """

    exact: bool
    additive: bool
    uniform_digits: bool
    nfc: bool = False


FAMILIES = {
    "llama3": Family(exact=True, additive=True, uniform_digits=True),
    "qwen3": Family(exact=True, additive=True, uniform_digits=True, nfc=True),
    "mistral_v3": Family(exact=True, additive=True, uniform_digits=True),
    "deepseek_v3": Family(exact=True, additive=True, uniform_digits=True),
    # loads and counts, but there was nothing to compare it with
    "gemma3": Family(exact=False, additive=False, uniform_digits=True),
}
# Qwen 2, 2.5 and 3 have one vocabulary.
ALIASES = {"qwen2": "qwen3", "qwen2.5": "qwen3"}


class FamilyCounter(BaseCounter):
    """Counts with the vocabulary of a model family: llama3, qwen3, mistral_v3, deepseek_v3 or gemma3.

    Text that spells a special token is plain text; no token is added at the start. Lone surrogates count as
    U+FFFD. The vocabulary loads on the first count.

    Raises TokenizerError, with the command to install it, where the extra `models` is missing.

    >>> FamilyCounter("qwen3").exact
    True
    """

    __slots__ = ("_encode",)

    def __init__(self, name: str) -> None:
        family = FAMILIES[name]
        super().__init__(
            name, exact=family.exact, additive=family.additive, uniform_digits=family.uniform_digits
        )
        self._encode: Callable[[str], list[int]] | None = None

    def _measure(self, text: str) -> int:
        encode = self._encode or self._load()
        if FAMILIES[self.name].nfc and not text.isascii():
            text = unicodedata.normalize("NFC", text)
        if len(text) >= LONG and self.additive:
            return sum(len(encode(part)) for part in parts(repaired(text), LONG // 4))
        try:
            return len(encode(text))
        except UnicodeEncodeError:
            return len(encode(repaired(text)))

    def _load(self) -> Callable[[str], list[int]]:
        with self._lock:
            if self._encode is None:
                try:
                    from splintr import Tokenizer

                    encode: Callable[[str], list[int]] = Tokenizer.from_pretrained(self.name).encode_ordinary
                except (ImportError, ValueError, RuntimeError) as error:
                    raise TokenizerError(
                        f"counter {self.name!r}: its vocabulary comes with the extra 'models', which cannot "
                        f'be loaded ({error}). Remedies: pip install "promptpack-rag[models]", or count with '
                        "counter='estimate', which marks the budget as not exact.",
                        name=self.name,
                    ) from error
                self._encode = encode
            return self._encode
