"""Prompt caching: which part of a payload stays the same, where a provider's marks go, and what a change costs.

A provider serves a prompt from its cache up to the first token that differs from an earlier one. The layout of a
payload runs from static to volatile (system and rules, tools, pinned sources, history, retrieved sources, question),
so that what is stable is a prefix. `PromptBuilder(cache="auto")` marks the ends of its parts, at most three: after the
system text, after the pinned sources and after the history.

* Anthropic: `cache_control` on a block, at most 4 in a request; 512 tokens is the least that any model caches.
* OpenAI: a `prompt_cache_breakpoint` on a content part, from gpt-5.6 on, at most 4 in a request, of which one is the
  provider's own; from 1,024 tokens on. Older models cache by themselves and refuse marks, so they get none.
* Bedrock: a `cachePoint` block, for Claude and Nova models, at most 4; counted like Anthropic's.

A mark on too short a prefix is not an error but does nothing, so none is set below those figures. The figures are those
of the providers' guides to prompt caching in November 2026.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from promptpack.errors import OptionError, SourceError, quote
from promptpack.message import Message, attached_tokens, text_pieces, to_openai
from promptpack.profiles import bare_name, profile
from promptpack.spotlight import Spotlight
from promptpack.tokens import counter as counter_named

if TYPE_CHECKING:
    from promptpack.builder import PromptBuilder
    from promptpack.payload import PackedSource, Payload
    from promptpack.window import Budget

Part = Literal["tools", "system", "pinned", "history", "sources", "question"]
LEAST = {"anthropic": 512, "openai": 1024, "bedrock": 512}  # tokens of a prefix below which no model caches it
_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?![\d.])")
_FIRST_MARKED = (5, 6)
_NAMES: dict[str, str] = {
    "tools": "the tool schemas", "system": "the system text", "pinned": "the pinned sources", "history": "the history",
    "sources": "the sources", "question": "the question",
}


@dataclass(frozen=True, slots=True)
class PrefixDiff:
    """How much of a payload is the same, from its start, as one that was sent before; str() says it in a sentence.

    cached: the tokens that are the same, at most what a provider's cache can serve (providers round down to their own
    blocks). tokens: those of the whole payload. exact: False where the counter cannot be had by name any more, so that
    the share of characters stands for the share of tokens. part: what differs first, None where nothing does;
    message, role: the message that it stands in, None for tools. label: the first passage that differs.
    place, of: its place among the passages, from 1.
    """

    cached: int
    tokens: int
    exact: bool = True
    part: Part | None = None
    message: int | None = None
    role: str | None = None
    label: str | None = None
    place: int | None = None
    of: int | None = None

    @property
    def changed(self) -> int:
        """The tokens from the first difference on, which are read anew."""
        return self.tokens - self.cached

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        if self.part is None:
            return f"all {about}{self.tokens:,} tokens stay cached."
        what = _NAMES[self.part]
        if self.label is not None:
            what = f"source {self.label}, place {self.place} of {self.of}"
        where = "" if self.message is None else f" in message {self.message} ({self.role})"
        return (
            f"{about}{self.cached:,} of {self.tokens:,} tokens stay cached; the first difference is {what}{where}, "
            f"and the {self.changed:,} tokens from there on are read anew."
        )


def prefix_hash(payload: Payload) -> str:
    """Return the SHA-256, in hex, of the stable prefix: tools, system text, pinned sources, history.

    It is taken over the JSON (keys sorted) of the tools and of what is sent of each message, role included. Payloads
    with equal hashes share their whole prefix, so that a provider's cache serves it.
    """
    last = payload.messages[-1:] if payload.messages else ()
    stable = [last[0].text[: payload.layout.stable]] if last and payload.layout and payload.layout.stable else []
    return _hash(payload, payload.messages[:-1], stable)


def cache_key(payload: Payload) -> str:
    """Return the key that keeps requests with the same tools, system text and pinned sources together: 32 hex digits.

    Unlike `prefix_hash` it stays the same while a conversation grows.
    """
    layout = payload.layout
    before = len(payload.messages) - 1 - (layout.history if layout else 0)
    return _hash(payload, payload.messages[:max(0, before)], [])[:32]


def diff_prefix(payload: Payload, previous: Payload) -> PrefixDiff:
    """Compare a payload with the one sent before it: the tokens that stay cached and the first place that differs.

    Tools come first, then the messages in order. Tokens are those of the payload's counter, the message overhead of the
    model included.

    >>> from promptpack.builder import PromptBuilder
    >>> builder = PromptBuilder(1000, counter="words").add_sources(["Returns are free."])
    >>> before = builder.with_question("What does it cost?").render()
    >>> diff = diff_prefix(builder.with_question("What is free?").render(), before)
    >>> diff.part, diff.message, diff.cached, diff.tokens
    ('question', 1, 42, 47)
    """
    if not hasattr(previous, "messages") or not hasattr(previous, "layout"):
        raise OptionError(
            f"diff_prefix: expected a Payload, got {quote(previous)}", name="previous", given=None
        )
    if payload.tools != previous.tools:
        return PrefixDiff(0, payload.tokens, part="tools")
    old, new = previous.messages, payload.messages
    same = 0
    while same < len(new) and same < len(old) and _sent(new[same]) == _sent(old[same]):
        same += 1
    if same == len(new):  # what came after it before, if anything, is of no matter
        return PrefixDiff(payload.tokens, payload.tokens)
    shared = _common(_text(new[same]), _text(old[same])) if same < len(old) and new[same].role == old[same].role else ""
    cached, exact = _tokens(payload, same, shared)
    part, passage, of = _differs(payload, previous, same)
    return PrefixDiff(
        cached, payload.tokens, exact, part, same, new[same].role, passage.label if passage else None,
        passage.position + 1 if passage else None, of,
    )


def marks(payload: Payload, provider: str, model: str | None = None) -> tuple[int, ...]:
    """Return the indices of the messages after which a cache mark goes; empty unless the builder has cache="auto".

    A message that is the last one is marked inside, after its pinned sources (`Layout.stable`).
    """
    layout = payload.layout
    name = model or payload.report.model
    if layout is None or layout.cache is None or not takes_marks(provider, name):
        return ()
    last = len(payload.messages) - 1
    pinned = sum(one.tokens for one in payload.sources if one.source.pinned)
    budget = payload.budget
    found = []
    tokens = budget.tools + budget.system
    if payload.messages and payload.messages[0].role in ("system", "developer"):
        found.append((0, tokens))
    tokens += pinned
    if layout.pinned is not None:
        found.append((layout.pinned, tokens))
    if layout.history:
        found.append((last - 1, tokens + budget.history))
    elif layout.stable:
        found.append((last, tokens))
    return tuple(index for index, before in found if before >= LEAST[provider])


def takes_marks(provider: str, model: str | None) -> bool:
    """Tell whether a model of a provider takes cache marks.

    >>> takes_marks("openai", "gpt-5.6-mini"), takes_marks("openai", "gpt-4o"), takes_marks("anthropic", None)
    (True, False, True)
    """
    if provider == "anthropic":
        return True
    name = bare_name(model) if model else ""
    if provider == "openai":
        found = _GPT.match(name)
        return bool(found) and (int(found[1]), int(found[2] or 0)) >= _FIRST_MARKED if found else False
    return provider == "bedrock" and ("anthropic.claude" in name or "amazon.nova" in name)


def cache_notes(builder: PromptBuilder, account: Budget, sources: Sequence[PackedSource]) -> tuple[str, ...]:
    """Return what the report says of a payload with cache="auto": how much is stable, and what the order costs."""
    if builder.cache is None:
        return ()
    if isinstance(builder.escape, Spotlight):
        return ("cache: escape='spotlight' writes other tags into each payload, so that nothing of it stays cached",)
    stable = account.tools + account.system + account.history + sum(one.tokens for one in sources if one.source.pinned)
    loose = sum(one.tokens for one in sources if not one.source.pinned)
    told = (
        f"cache: {stable:,} tokens (tools, system text, pinned sources, history) stand before the first retrieved "
        "source and stay cached while they are the same"
    )
    if not loose:
        return (told,)
    cost = f"cache: a new retrieval changes up to {loose:,} tokens of sources"
    if builder.packing.place in (None, "fold", "u_curve"):
        cost += (
            ": the place of a source depends on all others, so that one new or newly ranked source changes all that "
            "follows it; place='document' keeps passages that come again in their order, and pinned sources are "
            "cached with the rest"
        )
    return told, cost


def _hash(payload: Payload, messages: Sequence[Message], more: Sequence[str]) -> str:
    plain = {"tools": list(payload.tools), "messages": [to_openai(one) for one in messages], "start": list(more)}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), default=lambda one: type(one).__qualname__)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _sent(message: Message) -> dict[str, Any]:
    return to_openai(message)


def _text(message: Message) -> str:
    return "".join(text_pieces(message))


def _common(new: str, old: str) -> str:
    """Return the common start of two texts, by halving: a comparison of slices is far quicker than a loop."""
    low, high = 0, min(len(new), len(old))
    while low < high:
        middle = (low + high + 1) // 2
        if new[low:middle] == old[low:middle]:
            low = middle
        else:
            high = middle - 1
    return new[:low]


def _tokens(payload: Payload, same: int, shared: str) -> tuple[int, bool]:
    """Return the tokens of the tools, of the first `same` messages and of `shared`, and whether they were counted."""
    texts = [list(text_pieces(one)) for one in payload.messages]
    try:
        count = counter_named(payload.report.counter)
    except OptionError:  # a callable of the user: only its name is left
        whole = sum(len(piece) for pieces in texts for piece in pieces)
        part = sum(len(piece) for pieces in texts[:same] for piece in pieces) + len(shared)
        rest = payload.tokens - payload.budget.tools
        return payload.budget.tools + (rest * part // whole if whole else 0), False
    found = profile(payload.report.model)
    tokens = payload.budget.tools + sum(
        found.message + sum(map(count, pieces)) + attached_tokens(one)
        for one, pieces in zip(payload.messages[:same], texts, strict=False)
    )
    tokens += found.message + count(shared) if shared else 0
    return min(tokens, payload.tokens), True


def _differs(
    payload: Payload, previous: Payload, index: int
) -> tuple[Part, PackedSource | None, int | None]:
    """Return the part that message `index` differs in, and the first passage of it that does."""
    layout = payload.layout
    if layout is None:
        raise SourceError("this payload does not say which message holds what", field="layout")
    last = len(payload.messages) - 1
    if payload.messages[index].role in ("system", "developer"):
        return "system", None, None
    if index != last and index != layout.pinned:
        return "history", None, None
    own, old = list(payload.sources), list(previous.sources)
    if layout.pinned is not None:  # the pinned ones have a message of their own
        own = [one for one in own if one.source.pinned == (index == layout.pinned)]
        old = [one for one in old if one.source.pinned == (index == layout.pinned)]
    for at, one in enumerate(own):
        if at >= len(old) or (one.label, one.text, one.attributes) != (old[at].label, old[at].text, old[at].attributes):
            return ("pinned" if one.source.pinned else "sources"), one, len(payload.sources)
    if index == layout.pinned:
        return "pinned", None, None
    asked = previous.layout.question if previous.layout else None
    return ("question" if len(own) == len(old) and layout.question != asked else "sources"), None, None
