"""Builders for common uses: each a function of the window, with the reason for every setting that it makes.

A preset is a starting point, an ordinary builder: `with_packing(...)`, `with_window(...)` and all other methods change
it. What is not set here is the builder's default. Settings given by name replace those of the preset.
"""

from __future__ import annotations

from typing import Any

from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError
from promptpack.packing import Chronological, Dedup, Diversity, Packing
from promptpack.window import Window

# Near-duplicates are looked for among so many earlier texts: far more than a retriever returns, and a bound on time.
_CANDIDATES = 1000


def docs_qa(window: int | Window, **settings: Any) -> PromptBuilder:
    """Return a builder for questions about documents.

    Nearly equal texts (0.95) are sent once, since manuals repeat themselves from version to version; texts that differ
    in a number or a negation are never taken for equal. The place follows the question: a walk-through reads in the
    order of the document, a question about when in that of time, any other has its best passages at both ends. The page
    is shown, because readers look sources up by it.

    >>> docs_qa(8192).packing.place
    'auto'
    """
    packing = Packing(dedup=Dedup(threshold=0.95, max_candidates=_CANDIDATES), select="auto", place="auto")
    fields = ("chunk", "title", "section", "page", "updated")
    return _builder("docs_qa", window, settings, packing=packing, fields=fields)


def chat(window: int | Window, **settings: Any) -> PromptBuilder:
    """Return a builder for a conversation, such as for `Conversation(presets.chat(8192))`.

    At most eight sources a turn, so that what was said has room and old passages do not drown the new question; the
    history takes up to half of what is left. The best stand at both ends. cache="auto" marks the stable start of the
    prompt, which every turn sends again.

    >>> chat(8192).packing.top_k, chat(8192).cache
    (8, 'auto')
    """
    return _builder("chat", window, settings, packing=Packing(select="auto", top_k=8), cache="auto")


def logs(window: int | Window, **settings: Any) -> PromptBuilder:
    """Return a builder for log lines, events and other records in time.

    Nothing is deduplicated: a line that occurs twice happened twice. The ranking is sent down to the first line that
    does not fit and no further, since a gap in a timeline reads as silence; without scores, the order of arrival is the
    ranking. The latest come first. Time, level, service and host are shown where they are known.

    >>> logs(8192).packing.select
    'prefix'
    """
    packing = Packing(dedup="off", select="prefix", place=Chronological(newest_first=True), tie="input")
    return _builder("logs", window, settings, packing=packing, fields=("chunk", "updated", "level", "service", "host"))


def diverse(window: int | Window, **settings: Any) -> PromptBuilder:
    """Return a builder for questions with several sides: overviews, comparisons, research.

    Each next source is weighed by relevance (0.7) against likeness to those before it (0.3), and less where its
    document has had its say (0.2 for each source of it); at most three of one document, so that one long text does not
    stand for all. Nearly equal texts (0.9) are sent once.

    >>> diverse(8192).packing.max_per_document
    3
    """
    packing = Packing(
        dedup=Dedup(threshold=0.9, max_candidates=_CANDIDATES), max_per_document=3,
        diversity=Diversity(relevance=0.7, document_weight=0.2, max_candidates=_CANDIDATES),
    )
    return _builder("diverse", window, settings, packing=packing)


def files(window: int | Window, **settings: Any) -> PromptBuilder:
    """Return a builder for whole files, given by importance: `Source(path, text, priority=2, cut=Cut(keep="ends"))`.

    A higher `priority` goes first, and a file with a `cut` is shortened to what room is left, where others go whole or
    not at all. Equal files are all sent, since their paths differ; they stand in the order of their importance. The
    path is the id; path and language are shown where the metadata have them.

    >>> files(8192).packing.select
    'priority'
    """
    packing = Packing(select="priority", dedup="off", place="best_first", tie="input")
    return _builder("files", window, settings, packing=packing, fields=("chunk", "path", "language"))


PRESETS = {"docs_qa": docs_qa, "chat": chat, "logs": logs, "diverse": diverse, "files": files}


def _builder(name: str, window: int | Window, settings: dict[str, Any], **preset: Any) -> PromptBuilder:
    known = [field for field in PromptBuilder.__dataclass_fields__ if field not in ("window", "_content")]
    for given in settings:
        if given not in known:
            raise OptionError.unknown(f"presets.{name}", given, known)
    return PromptBuilder(window, **{**preset, **settings})
