"""promptpack: from retrieved sources to the exact payload, and from the answer back to the sources.

    >>> from promptpack import PromptBuilder
    >>> hits = [{"id": "returns#1", "text": "Returns are free for 30 days.", "score": 0.9}]
    >>> payload = PromptBuilder(window=8192).add_sources(hits).with_question("How long?").render()
    >>> payload.verify("For 30 days [S1].").raise_for_unknown().cited
    ('returns#1',)

Names are loaded on first use: importing the package loads no tokenizer, no template engine and no numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptpack.version import __version__

# Where each public name lives, in groups as a reader meets them.
_HOMES = {
    # build
    "PromptBuilder": "builder", "Source": "source", "Cut": "source", "Window": "window", "Budget": "window",
    "allocate": "window", "Labels": "labels", "TemplateSet": "templates", "Message": "messages",
    # the result
    "Payload": "payload", "PackedSource": "payload", "Report": "payload",
    # packing without the builder
    "pack": "packing", "Packing": "packing", "Packed": "packing", "Placed": "packing", "Dropped": "packing",
    "Dedup": "packing", "Diversity": "packing", "Scoring": "packing", "Spread": "packing", "DocumentOrder": "packing",
    "Chronological": "packing", "ByKey": "packing", "Auto": "packing", "overlap": "packing", "recency": "packing",
    "weighted": "packing", "mmr": "packing",
    # counting
    "counter": "tokens", "count_tokens": "tokens",
    # the way back
    "parse_citations": "citations", "verify_citations": "citations", "Citation": "citations",
    "Verification": "citations",
    # shapes of a user's own parts
    "TokenCounter": "protocols", "Scorer": "protocols", "Reranker": "protocols", "Selector": "protocols",
    "Placer": "protocols", "Escaper": "protocols",
    # errors
    "PromptpackError": "errors", "SourceError": "errors", "DuplicateIdError": "errors", "OptionError": "errors",
    "BudgetError": "errors", "TokenizerError": "errors", "TemplateLookupError": "errors",
    "TemplateRenderError": "errors", "RerankError": "errors", "CitationError": "errors",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from promptpack.builder import PromptBuilder as PromptBuilder


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'promptpack' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"promptpack.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
