"""The packaged vocabularies: the right bytes, tiktoken's own definitions, no network, clear errors."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import threading

import pytest

from promptpack.errors import OptionError, TokenizerError
from promptpack.tokens import counter, vocabulary
from promptpack.tokens.bpe import BpeCounter
from promptpack.tokens.vocabulary import VOCABULARIES, encoding

NAMES = sorted(VOCABULARIES)


def own_definition(name, monkeypatch):
    """What tiktoken itself says of the encoding, with the download replaced by a record of its arguments."""
    from tiktoken_ext import openai_public

    asked = {}

    def record(path, expected_hash=None):
        asked["sha256"] = expected_hash
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", record)
    return openai_public.ENCODING_CONSTRUCTORS[name](), asked["sha256"]


@pytest.mark.parametrize("name", NAMES)
def test_definition_is_tiktokens_own(name, monkeypatch):
    """If this fails tiktoken has changed an encoding, and our counts are no longer its counts."""
    theirs, sha256 = own_definition(name, monkeypatch)
    ours = VOCABULARIES[name]
    assert ours.sha256 == sha256
    assert ours.pattern == theirs["pat_str"]
    assert ours.special == theirs["special_tokens"]


@pytest.mark.parametrize("name", NAMES)
def test_ranks_have_the_published_hash_and_the_notice_names_it(name):
    raw = gzip.decompress((vocabulary.DATA / f"{name}.tiktoken.gz").read_bytes())
    sha256 = hashlib.sha256(raw).hexdigest()
    assert sha256 == VOCABULARIES[name].sha256
    notice = (vocabulary.DATA / "NOTICE").read_text(encoding="utf-8")
    assert sha256 in notice
    assert f"{len(raw):,}" in notice
    assert "Copyright (c)" in notice


@pytest.mark.parametrize(
    ("name", "ids"), [("o200k_base", [24912, 2375]), ("cl100k_base", [15339, 1917])]
)
def test_known_ids(name, ids):
    assert encoding(name).encode_ordinary("hello world") == ids


def test_unknown_encoding_is_an_option_error():
    with pytest.raises(OptionError, match=r"did you mean 'o200k_base'"):
        encoding("o200k-base")


def test_one_object_for_all_threads(monkeypatch):
    """If this fails the vocabulary is built several times, at a quarter of a second and 70 MB each."""
    monkeypatch.setattr(vocabulary, "_encodings", {})
    built = []
    build = vocabulary._build
    monkeypatch.setattr(vocabulary, "_build", lambda name: built.append(name) or build(name))
    found = []
    threads = [threading.Thread(target=lambda: found.append(encoding("cl100k_base"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ["cl100k_base"]
    assert len({id(one) for one in found}) == 1


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(vocabulary, "DATA", tmp_path)
    monkeypatch.setattr(vocabulary, "_encodings", {})
    return tmp_path


def test_missing_file_names_the_remedies(elsewhere):
    """If this fails a count falls back silently, or the user sees a bare FileNotFoundError."""
    with pytest.raises(TokenizerError, match=r"cannot be read .*pip install .*estimate") as caught:
        BpeCounter("o200k_base", fast=False)("some text")
    assert caught.value.name == "o200k_base"
    assert vocabulary._encodings == {}


@pytest.mark.parametrize("content", [
    b"", b"no gzip", gzip.compress(b"aGk= 0\n", mtime=0), gzip.compress(b"x", mtime=0)[:-9],
])
def test_damaged_file_is_named(elsewhere, content):
    (elsewhere / "cl100k_base.tiktoken.gz").write_bytes(content)
    with pytest.raises(TokenizerError, match="is damaged"):
        encoding("cl100k_base")


def test_counting_needs_no_network_and_no_cache(tmp_path):
    """Counts with every socket refused and tiktoken's cache variables set to nonsense."""
    program = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse; socket.create_connection = refuse\n"
        "from promptpack.counting import count_tokens\n"
        "from promptpack.tokens import counter\n"
        "print(count_tokens('hello world'), counter('cl100k_base', fast=False)('hello world'),"
        " counter('o200k_base', fast=False)('hello world'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)},
    )
    assert done.stdout.split() == ["2", "2", "2"]
    assert list(tmp_path.iterdir()) == []


def test_importing_the_package_loads_no_tokenizer():
    """If this fails importing the library costs what its first count should."""
    program = (
        "import sys\n"
        "import promptpack.tokens\n"
        "promptpack.tokens.counter('o200k_base'); promptpack.tokens.counter('estimate')('some words')\n"
        "print([m for m in ('tiktoken', 'numpy', 'regex', 'toktok', 'splintr', 'jinja2', 'click', 'rich')"
        " if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
    )
    assert done.stdout.strip() == "[]"


def words_minus_slashes(text):
    return len(text.split()) - text.count("\n/") - text.count("\r/")


@pytest.mark.parametrize("name", NAMES)
def test_no_token_spans_more_words_than_floor_allows(name):
    """The proof of `floor`: if a token spans more words, a source that fits could be turned away."""
    known = encoding(name)
    spans = words_minus_slashes if name == "o200k_base" else lambda text: len(text.split())
    worst = max(spans(token.decode("utf-8", "replace")) for token in known._mergeable_ranks)
    assert worst == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_group_of_digits_is_one_token(name):
    """The proof of `uniform_digits`: digits split in threes, and each group is a token."""
    ranks = encoding(name)._mergeable_ranks
    for width in (1, 2, 3):
        assert all(f"{number:0{width}}".encode() in ranks for number in range(10**width))


@pytest.mark.parametrize("name", [*NAMES, "estimate", "words", "chars"])
@pytest.mark.parametrize(
    "shape", ['<source_{0} id="S{0}">\n', "</source_{0}>\n", "[S{0} | ", "[S{0}]", "S{0}"]
)
def test_labels_of_one_width_cost_the_same(name, shape):
    """If this fails a label's number changes the size of a payload that was measured with another one."""
    count = counter(name)
    assert count.uniform_digits
    for width in (1, 2, 3, 4):
        numbers = range(10 ** (width - 1), 10**width)
        assert len(set(count.count_many(shape.format(number) for number in numbers))) == 1
