"""The vocabularies that the package carries, as real `tiktoken.Encoding` objects, never downloaded.

tiktoken itself fetches its vocabularies from the network at first use. Here they come out of the
package's own data folder; its cache folder and environment variables play no part.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
import zlib
from binascii import a2b_base64
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from promptpack.errors import OptionError, TokenizerError

if TYPE_CHECKING:
    import tiktoken

DATA = Path(__file__).with_name("data")

_START = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_END = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


class Vocabulary(NamedTuple):
    """What makes an encoding besides its ranks: the ranks' sha256, the split pattern, special tokens."""

    sha256: str
    pattern: str
    special: dict[str, int]


VOCABULARIES = {
    "o200k_base": Vocabulary(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "|".join((
            _START + "*" + _END + "+" + _CONTRACTION,
            _START + "+" + _END + "*" + _CONTRACTION,
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )),
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
    "cl100k_base": Vocabulary(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        {
            "<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276,
        },
    ),
}

# Other vocabularies of tiktoken: their names must not be taken for those of models, which are estimated.
NOT_SHIPPED = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "o200k_harmony")

_REMEDIES = (
    "Remedies: reinstall the package (pip install --force-reinstall promptpack-rag), or count with "
    "counter='estimate', which needs no vocabulary and marks the budget as not exact."
)
_encodings: dict[str, tiktoken.Encoding] = {}
_lock = threading.Lock()


def encoding(name: str) -> tiktoken.Encoding:
    """Return the `tiktoken.Encoding` of that name, built on first use from the packaged vocabulary.

    Building takes about a quarter of a second for o200k_base; later calls return the same object,
    from any thread. Pattern and special tokens are those of tiktoken's own definition.

    Raises OptionError for an unknown name, TokenizerError for one of tiktoken's that the package does not carry, and
    where the file is missing or its ranks do not have the sha256 that tiktoken expects.

    >>> encoding("cl100k_base").encode_ordinary("hello world")
    [15339, 1917]
    """
    known = _encodings.get(name)
    if known is not None:
        return known
    if name in NOT_SHIPPED:
        raise not_shipped(name)
    if name not in VOCABULARIES:
        raise OptionError.unknown("encoding", name, VOCABULARIES)
    with _lock:
        if name not in _encodings:
            _encodings[name] = _build(name)
        return _encodings[name]


def not_shipped(name: str) -> TokenizerError:
    """Build the error for a vocabulary that the package does not carry.

    >>> str(not_shipped("p50k_base")).partition(" (")[0]
    "counter 'p50k_base': this vocabulary does not come with the package"
    """
    same = "take 'o200k_base', which counts plain text alike, " if name == "o200k_harmony" else ""
    return TokenizerError(
        f"counter {name!r}: this vocabulary does not come with the package ({', '.join(VOCABULARIES)} do). Remedies: "
        f"{same}give its tokenizer.json as counter (extra 'hf'), or any callable from text to its number of tokens, as "
        f"lambda text: len(tiktoken.get_encoding({name!r}).encode_ordinary(text)), or count with counter='estimate', "
        "which marks the budget as not exact.",
        name=name,
    )


def _build(name: str) -> tiktoken.Encoding:
    try:
        import tiktoken
    except ImportError as error:
        raise TokenizerError(
            f"counter {name!r}: the package tiktoken cannot be imported ({error}). "
            'Remedies: pip install "tiktoken>=0.13", or count with counter=\'estimate\'.',
            name=name,
        ) from error
    vocabulary = VOCABULARIES[name]
    fields = iter(_ranks(name, vocabulary.sha256).split())
    ranks = {a2b_base64(token): int(rank) for token, rank in zip(fields, fields, strict=True)}
    return tiktoken.Encoding(
        name, pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens=dict(vocabulary.special)
    )


def _ranks(name: str, sha256: str) -> bytes:
    path = DATA / f"{name}.tiktoken.gz"
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise TokenizerError(
            f"counter {name!r}: its vocabulary file {path} cannot be read ({error.strerror or error}). "
            f"{_REMEDIES}",
            name=name,
        ) from error
    try:
        raw = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as error:
        raise TokenizerError(
            f"counter {name!r}: its vocabulary file {path} is damaged ({error}). {_REMEDIES}", name=name
        ) from error
    found = hashlib.sha256(raw).hexdigest()
    if found != sha256:
        raise TokenizerError(
            f"counter {name!r}: its vocabulary file {path} is damaged: sha256 {found}, expected {sha256}. "
            f"{_REMEDIES}",
            name=name,
        )
    return raw
