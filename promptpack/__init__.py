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
    "Conversation": "conversation",
    "allocate": "window", "Labels": "labels", "TemplateSet": "templates",
    "Spotlight": "spotlight", "Message": "messages",
    # the result
    "Payload": "payload", "PackedSource": "payload", "Report": "payload",
    # packing without the builder
    "pack": "packing", "Packing": "packing", "Packed": "packing", "Placed": "packing", "Dropped": "packing",
    "Dedup": "packing", "Diversity": "packing", "Scoring": "packing", "Spread": "packing", "Spans": "packing",
    "DocumentOrder": "packing",
    "Chronological": "packing", "ByKey": "packing", "Auto": "packing", "overlap": "packing", "recency": "packing",
    "weighted": "packing", "mmr": "packing", "Curve": "packing", "PositionCurve": "curves",
    # reordering and reranking
    "Reorderer": "reorder", "Rerank": "rerank",
    # counting
    "counter": "tokens", "count_tokens": "counting", "hf_counter": "tokens", "calibrate": "tokens",
    "CalibratedCounter": "tokens", "Profile": "profiles", "Models": "profiles", "load_models": "profiles",
    # the way back
    "parse_citations": "citations", "verify_citations": "citations", "link_citations": "citations",
    "CitationStream": "citations", "Citation": "citations", "Verification": "citations",
    # many prompts
    "render_many": "batch", "pack_batch": "batch",
    # shapes of a user's own parts
    "TokenCounter": "protocols", "Scorer": "protocols", "Reranker": "protocols", "Selector": "protocols",
    "Placer": "protocols", "Escaper": "protocols",
    # errors
    "PromptpackError": "errors", "SourceError": "errors", "DuplicateIdError": "errors", "OptionError": "errors",
    "BudgetError": "errors", "TokenizerError": "errors", "TemplateLookupError": "errors",
    "TemplateRenderError": "errors", "RerankError": "errors", "CitationError": "errors",
}

# Modules that are used by their names, `promptpack.presets.chat(8192)`; they, too, are loaded on first use.
_MODULES = ("adapters", "calibration", "evaluation", "presets", "rerankers")

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from promptpack.batch import pack_batch as pack_batch
    from promptpack.batch import render_many as render_many
    from promptpack.builder import PromptBuilder as PromptBuilder
    from promptpack.citations import Citation as Citation
    from promptpack.citations import CitationStream as CitationStream
    from promptpack.citations import Verification as Verification
    from promptpack.citations import link_citations as link_citations
    from promptpack.citations import parse_citations as parse_citations
    from promptpack.citations import verify_citations as verify_citations
    from promptpack.conversation import Conversation as Conversation
    from promptpack.counting import count_tokens as count_tokens
    from promptpack.curves import PositionCurve as PositionCurve
    from promptpack.errors import BudgetError as BudgetError
    from promptpack.errors import CitationError as CitationError
    from promptpack.errors import DuplicateIdError as DuplicateIdError
    from promptpack.errors import OptionError as OptionError
    from promptpack.errors import PromptpackError as PromptpackError
    from promptpack.errors import RerankError as RerankError
    from promptpack.errors import SourceError as SourceError
    from promptpack.errors import TemplateLookupError as TemplateLookupError
    from promptpack.errors import TemplateRenderError as TemplateRenderError
    from promptpack.errors import TokenizerError as TokenizerError
    from promptpack.labels import Labels as Labels
    from promptpack.messages import Message as Message
    from promptpack.packing import Auto as Auto
    from promptpack.packing import ByKey as ByKey
    from promptpack.packing import Chronological as Chronological
    from promptpack.packing import Curve as Curve
    from promptpack.packing import Dedup as Dedup
    from promptpack.packing import Diversity as Diversity
    from promptpack.packing import DocumentOrder as DocumentOrder
    from promptpack.packing import Dropped as Dropped
    from promptpack.packing import Packed as Packed
    from promptpack.packing import Packing as Packing
    from promptpack.packing import Placed as Placed
    from promptpack.packing import Scoring as Scoring
    from promptpack.packing import Spans as Spans
    from promptpack.packing import Spread as Spread
    from promptpack.packing import mmr as mmr
    from promptpack.packing import overlap as overlap
    from promptpack.packing import pack as pack
    from promptpack.packing import recency as recency
    from promptpack.packing import weighted as weighted
    from promptpack.payload import PackedSource as PackedSource
    from promptpack.payload import Payload as Payload
    from promptpack.payload import Report as Report
    from promptpack.profiles import Models as Models
    from promptpack.profiles import Profile as Profile
    from promptpack.profiles import load_models as load_models
    from promptpack.protocols import Escaper as Escaper
    from promptpack.protocols import Placer as Placer
    from promptpack.protocols import Reranker as Reranker
    from promptpack.protocols import Scorer as Scorer
    from promptpack.protocols import Selector as Selector
    from promptpack.protocols import TokenCounter as TokenCounter
    from promptpack.reorder import Reorderer as Reorderer
    from promptpack.rerank import Rerank as Rerank
    from promptpack.source import Cut as Cut
    from promptpack.source import Source as Source
    from promptpack.spotlight import Spotlight as Spotlight
    from promptpack.templates import TemplateSet as TemplateSet
    from promptpack.tokens import CalibratedCounter as CalibratedCounter
    from promptpack.tokens import calibrate as calibrate
    from promptpack.tokens import counter as counter
    from promptpack.tokens import hf_counter as hf_counter
    from promptpack.window import Budget as Budget
    from promptpack.window import Window as Window
    from promptpack.window import allocate as allocate


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None and name not in _MODULES:
        raise AttributeError(f"module 'promptpack' has no attribute {name!r}")
    import importlib

    if home is None:
        return importlib.import_module(f"promptpack.{name}")
    value = getattr(importlib.import_module(f"promptpack.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
