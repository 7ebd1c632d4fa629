"""Prompt caching: the layout runs from static to volatile, marks end the stable parts, and changes have a price."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.builder import PromptBuilder
from promptpack.caching import LEAST, cache_key, marks, takes_marks
from promptpack.errors import OptionError
from promptpack.payload import Payload
from promptpack.source import Source
from promptpack.tokens import counter
from promptpack.window import Window

RULES = "Follow the rules of the house. " * 300
PINNED = [Source("rules#1", "Returns are free for 30 days. " * 200, pinned=True, metadata={"title": "Returns"})]
FOUND = [
    Source("faq#1", "Refunds take 5 days.", 0.9), Source("faq#2", "Ask us.", 0.8), Source("faq#3", "Open daily.", 0.7),
]
HISTORY = [("user", "Hello? " * 300), ("assistant", "Hi.")]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def builder(**options: Any) -> PromptBuilder:
    options = {"counter": "o200k_base", "cache": "auto", "model": "gpt-5.6"} | options
    made = PromptBuilder(Window(60_000, answer=500), **options)
    return made.with_system(RULES).with_question("How long?").add_sources([*PINNED, *FOUND])


def full(**options: Any) -> PromptBuilder:
    return builder(**options).add_history(HISTORY).with_tools(TOOLS)


def marked(value: Any, name: str) -> int:
    if isinstance(value, dict):
        return (name in value) + sum(marked(one, name) for one in value.values())
    return sum(marked(one, name) for one in value) if isinstance(value, list) else 0


@pytest.mark.parametrize("template", ["default", "plain", "claude", "markdown", "gpt"])
def test_the_layout_runs_from_static_to_volatile(template: str) -> None:
    """If it fails, something that changes with each question stands before something that does not."""
    text = full(template=template).render().to_text()
    order = ["the rules of the house", "Returns are free", "Hello?", "Refunds take", "How long?"]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)
    assert text.rindex("Answer only") < text.index("Returns are free") or template == "gpt"


def test_cache_is_checked_and_kept() -> None:
    """If it fails, a slip of the pen switches caching off in silence."""
    with pytest.raises(OptionError, match="auto"):
        PromptBuilder(1000, cache="always")
    made = builder().render()
    assert made.layout is not None
    assert made.layout.cache == "auto"
    assert Payload.from_dict(made.to_dict()) == made


@pytest.mark.parametrize("change", [
    lambda b: b.with_question("How much?"),
    lambda b: b.add_sources([Source("faq#9", "Something new.", 0.99)]),
    lambda b: b.with_packing(top_k=2),
], ids=["question", "retrieval", "fewer"])
@pytest.mark.parametrize("start", [builder, full], ids=["alone", "history"])
def test_what_each_question_changes_is_not_in_the_hash(start, change) -> None:
    """If it fails, requests that a cache could serve look as if they could not."""
    assert change(start()).render().prefix_hash() == start().render().prefix_hash()


@pytest.mark.parametrize("change", [
    lambda b: b.with_system("Other rules."), lambda b: b.with_tools([*TOOLS, *TOOLS]),
    lambda b: b.add_history([("user", "More?"), ("assistant", "No.")]),
    lambda b: b.add_sources([Source("rules#2", "Also this.", pinned=True)]),
], ids=["system", "tools", "history", "pinned"])
def test_what_is_stable_is_in_the_hash(change) -> None:
    """If it fails, two payloads with different starts pass for the same."""
    before, after = full().render(), change(full()).render()
    assert after.prefix_hash() != before.prefix_hash()
    assert re.fullmatch("[0-9a-f]{64}", after.prefix_hash())


def test_the_cache_key_outlives_a_conversation() -> None:
    """If it fails, the turns of one conversation are routed to different caches."""
    first = builder(cache="auto").render()
    assert cache_key(full().render()) == cache_key(full().add_history([("user", "a"), ("assistant", "b")]).render())
    assert cache_key(first) != cache_key(builder().with_system("Else.").render())
    assert first.request("openai")["prompt_cache_key"] == cache_key(first)
    assert "prompt_cache_key" not in builder(cache=None).render().request("openai")


def test_marks_stand_where_the_stable_parts_end() -> None:
    """If it fails, what a provider caches is not what stays the same."""
    one = full().render()
    assert [message.role for message in one.messages] == ["system", "user", "user", "assistant", "user"]
    assert marks(one, "anthropic") == marks(one, "openai") == (0, 1, 3)
    made = one.to_anthropic()
    assert made["system"][-1]["cache_control"] == {"type": "ephemeral"}
    first, second, third = made["messages"]
    assert [("cache_control" in block) for block in first["content"]] == [True, False]
    assert "cache_control" in second["content"][-1]
    assert marked(third, "cache_control") == 0
    chat = one.to_openai()
    assert [marked(message, "prompt_cache_breakpoint") for message in chat] == [1, 1, 0, 1, 0]
    assert chat[0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}


@pytest.mark.parametrize("citations", ["inline", "native"])
def test_pinned_sources_have_a_message_of_their_own(citations: str) -> None:
    """If it fails, questions over the same pinned sources are read anew each time, or when the first turn is over."""
    one = builder().render()
    assert [message.role for message in one.messages] == ["system", "user", "user"]
    content = one.to_anthropic(citations)["messages"][0]["content"]
    assert [number for number, block in enumerate(content) if "cache_control" in block] == [0]
    if citations == "inline":  # Anthropic's roles alternate, so both messages are one there
        assert [block["text"] for block in content] == [message.text for message in one.messages[1:]]
        assert [marked(message, "prompt_cache_breakpoint") for message in one.to_openai()] == [1, 1, 0]
    again = builder().with_question("And after that?").render()
    assert again.messages[:2] == one.messages[:2]


def test_the_mark_before_an_assistant_in_responses() -> None:
    """If it fails, a mark is lost, since an assistant's turn cannot carry one there."""
    made = full().render().to_openai_responses(role="developer")["input"]
    assert [marked(item, "prompt_cache_breakpoint") for item in made] == [1, 1, 1, 0, 0]


def test_bedrock_gets_cache_points() -> None:
    """If it fails, Claude on Bedrock reads everything anew, or a model without caches refuses the request."""
    made = full().render()
    claude = made.request("bedrock", model="us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert claude["system"][-1] == {"cachePoint": {"type": "default"}}
    assert marked(claude, "cachePoint") == 3
    assert marked(made.request("bedrock", model="mistral.mistral-large-2402-v1:0"), "cachePoint") == 0
    alone = builder().render().to_bedrock(model="amazon.nova-pro-v1:0")["messages"][0]["content"]
    assert [list(block) for block in alone] == [["text"], ["cachePoint"], ["text"]]
    native = builder().render().to_bedrock("native", model="amazon.nova-pro-v1:0")["messages"][0]["content"]
    assert [next(iter(block)) for block in native] == ["searchResult", "cachePoint", *["searchResult"] * 3, "text"]


@pytest.mark.parametrize(("provider", "model", "takes"), [
    ("openai", "gpt-5.6", True), ("openai", "openai/gpt-5.6-mini", True), ("openai", "gpt-6-astra", True),
    ("openai", "gpt-5.10", True), ("openai", "gpt-5", False), ("openai", "gpt-5.5-pro", False),
    ("openai", "gpt-4.1", False), ("openai", "o3", False), ("openai", None, False), ("openai", "our-own", False),
    ("anthropic", None, True), ("bedrock", "anthropic.claude-opus-4", True), ("bedrock", None, False),
    ("gemini", "gemini-2.5-pro", False),
])
def test_which_models_take_marks(provider, model, takes) -> None:
    """If it fails, an older model refuses a request for a field that it does not know."""
    assert takes_marks(provider, model) is takes


def test_a_short_prefix_gets_no_mark() -> None:
    """If it fails, marks are spent on what no provider caches."""
    short = PromptBuilder(4000, cache="auto", model="gpt-5.6").with_question("Why?").add_sources(["a"]).render()
    assert marked(short.to_anthropic(), "cache_control") == 0
    assert marked(short.to_openai(), "prompt_cache_breakpoint") == 0
    assert LEAST["openai"] > LEAST["anthropic"]


@pytest.mark.parametrize("cache", [None, "auto"])
def test_marks_change_nothing_else(cache) -> None:
    """If it fails, caching changes the prompt or its price."""
    one, other = full(cache=cache).render(), full(cache=None).render()
    assert one.messages == other.messages
    assert one.tokens == other.tokens
    assert (cache is None) == (marked(one.to_anthropic(), "cache_control") == 0)


def test_the_report_shows_the_trade() -> None:
    """If it fails, nobody is told that the fold moves passages, and what that costs."""
    notes = [note for note in full().render().report.notes if note.startswith("cache:")]
    loose = sum(one.tokens for one in full().render().sources if not one.source.pinned)
    assert len(notes) == 2
    assert f"{loose:,} tokens" in notes[1]
    assert "depends on all others" in notes[1]
    other = full().with_packing(place="document").render().report.notes
    assert not any("depends on" in note for note in other)
    assert not any(note.startswith("cache:") for note in full(cache=None).render().report.notes)


def test_the_same_payload() -> None:
    """If it fails, a payload differs from itself."""
    one = full().render()
    diff = one.diff_prefix(full().render())
    assert (diff.cached, diff.changed, diff.part) == (one.tokens, 0, None)
    assert str(diff) == f"all {one.tokens:,} tokens stay cached."


@pytest.mark.parametrize(("change", "part", "label"), [
    (lambda b: b.with_question("How much?"), "question", None),
    (lambda b: b.add_sources([Source("faq#9", "Something new.", 0.99)]), "sources", "S2"),
    (lambda b: b.with_packing(top_k=3), "sources", "S3"),
    (lambda b: b.add_history([("user", "More?"), ("assistant", "No.")]), "history", None),
    (lambda b: b.add_sources([Source("rules#2", "Also this.", pinned=True)]), "pinned", "S2"),
    (lambda b: b.with_system("Other rules."), "system", None),
    (lambda b: b.with_tools([]), "tools", None),
], ids=["question", "retrieval", "fewer", "history", "pinned", "system", "tools"])
def test_the_first_difference(change, part, label) -> None:
    """If it fails, the reader looks for the change in the wrong place."""
    before, after = full().render(), change(full()).render()
    diff = after.diff_prefix(before)
    if part == "history":  # the turn that was the last message is in the history now
        assert diff.message == 4
    assert (diff.part, diff.label) == (part, label)
    assert diff.exact
    assert 0 <= diff.cached < after.tokens
    assert (diff.cached == 0) == (part == "tools")
    assert str(diff).count(".") == 1
    assert f"{diff.changed:,} tokens" in str(diff)


def test_the_tokens_that_stay_cached_are_counted() -> None:
    """If it fails, the figure is not that of the payload's own counter."""
    before, after = full().render(), full().with_question("How much?").render()
    diff = after.diff_prefix(before)
    count = counter("o200k_base")
    text = after.messages[-1].text
    same = text[: text.index("How") + len("How ")]
    stable = after.tokens - count(text) - 3  # 3: the start of the reply
    assert abs(diff.cached - (stable + count(same))) <= 1


def test_a_users_own_counter() -> None:
    """If it fails, a payload counted by a callable cannot be compared, or pretends to be exact."""
    options = {"counter": lambda text: len(text) // 4 + 1, "model": None}
    before = full(**options).render()
    diff = full(**options).with_question("How much?").render().diff_prefix(before)
    assert not diff.exact
    assert 0.9 * before.tokens < diff.cached < before.tokens
    assert str(diff).startswith("about ")


def test_payloads_that_came_back_from_a_file() -> None:
    """If it fails, a payload cannot be compared with the one of an earlier run."""
    before = Payload.from_dict(full().render().to_dict())
    assert full().with_question("How much?").render().diff_prefix(before).part == "question"


@pytest.mark.parametrize("wrong", [None, "x", {}])
def test_only_payloads_are_compared(wrong) -> None:
    """If it fails, an AttributeError comes out."""
    with pytest.raises(OptionError, match="diff_prefix"):
        full().render().diff_prefix(wrong)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("ab \n", max_size=20), max_size=5), st.lists(st.text("ab \n", max_size=20), max_size=5))
def test_the_shared_start_is_the_longest(first, second) -> None:
    """If it fails, more or less is called cached than the two texts share."""
    options = {"counter": "chars", "escape": "off"}

    def made(texts: list[str]) -> Payload:
        pieces = [Source(f"s{number}", f"x{text}", 1 - number / 10) for number, text in enumerate(texts)]
        return PromptBuilder(5000, **options).add_sources(pieces).with_question("Why?").render()

    one, other = made(first), made(second)
    diff = one.diff_prefix(other)
    a, b = one.messages[-1].text, other.messages[-1].text
    shared = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if a == b:
        assert diff.cached == one.tokens
    else:
        system = len(one.messages[0].text) + 3
        assert diff.cached == system + (shared + 3 if shared else 0)
    assert one.diff_prefix(one).part is None


def test_comparing_is_linear() -> None:
    """If it fails, a prompt of some megabytes takes minutes to compare: the work is counted, not timed."""
    from promptpack.caching import _common

    class Watched(str):
        read = 0

        def __getitem__(self, key: Any) -> str:
            found = str.__getitem__(self, key)
            Watched.read += len(found)
            return found

    sizes = []
    for size in (10_000, 20_000, 40_000):
        Watched.read = 0
        assert len(_common(Watched("a" * size + "b"), Watched("a" * size + "c"))) == size
        sizes.append(Watched.read / size)
    assert max(sizes) <= 1.5 * min(sizes)


def test_marks_of_earlier_requests_give_way() -> None:
    """If it fails, a history with marks of its own takes a request beyond the four that the API allows."""
    block = {"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    turns = [
        {"role": role, "content": [{**block, "text": f"turn {number}"}]}
        for number, role in enumerate(["user", "assistant"] * 3)
    ]
    assert marked(builder().add_history(turns).render().to_anthropic(), "cache_control") == 3
    assert marked(builder(cache=None).add_history(turns).render().to_anthropic(), "cache_control") == 6


def test_breakpoints_of_earlier_requests_give_way_too() -> None:
    """If it fails, a history that was sent before brings more breakpoints than OpenAI takes."""
    said = {"type": "text", "text": "Hello? " * 300, "prompt_cache_breakpoint": {"mode": "explicit"}}
    turns = [{"role": "user", "content": [said]}, {"role": "assistant", "content": "Hi."}] * 3
    items = [{"type": "message", "role": "user", "content": [{**said, "type": "input_text"}]},
             {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}] * 3
    for history in (turns, items):
        one = builder().add_history(history).render()
        assert marked(one.to_openai(), "prompt_cache_breakpoint") <= 3
        assert marked(one.to_openai_responses()["input"], "prompt_cache_breakpoint") <= 3
        plain = builder(cache=None).add_history(history).render()
        made = plain.to_openai() if history is turns else plain.to_openai_responses()["input"]
        assert marked(made, "prompt_cache_breakpoint") == 3


def test_the_report_does_not_promise_a_cache_at_the_level_spotlight() -> None:
    """If it fails, the report says that a prefix stays cached which is another one in each payload."""
    notes = [note for note in full(escape="spotlight").render().report.notes if note.startswith("cache: ")]
    assert len(notes) == 1
    assert "nothing of it stays cached" in notes[0]
