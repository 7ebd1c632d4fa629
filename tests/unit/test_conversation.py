"""A conversation: each turn one question and one answer; labels, history and the order of sources carry over."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from promptpack import Conversation, Labels, Payload, PromptBuilder, Source, Window
from promptpack.errors import BudgetError, OptionError, SourceError

BUILDER = PromptBuilder(window=4_000)


def hits(*names: str, words: int = 30) -> list[Source]:
    """Sources named by single letters, the first the best."""
    return [
        Source(name, f"Fact {name} stands here. " + " ".join([name * 3] * words), 1.0 - index / 100)
        for index, name in enumerate(names)
    ]


def order(payload: Payload) -> list[str]:
    return [one.source.id for one in payload.sources]


def test_a_turn_is_one_question_and_one_answer():
    """If it fails, the history grows by the rendered sources, or the labels start again at 1."""
    chat = Conversation(BUILDER.with_system("Be brief."))
    first = chat.ask("How long?", hits(*"ab"))
    assert not chat.history
    chat = chat.answered("45 days [S1].")
    second = chat.ask("And bulbs?", hits(*"bc"))
    assert [(one.role, one.text) for one in second.messages[1:-1]] == [
        ("user", "How long?"), ("assistant", "45 days [S1].")
    ]
    assert dict(second.labels) == {"S2": ("b",), "S3": ("c",)}
    assert second.verify("[S1] [S2]").stale == ("S1",)
    assert first.question == "How long?"
    chat = chat.answered("They are free [S3].", second)
    assert [one.text for one in chat.history] == ["How long?", "45 days [S1].", "And bulbs?", "They are free [S3]."]
    assert dict(chat.labels.carried) == {"S1": ("a",), "S2": ("b",), "S3": ("c",)}


def test_what_an_assistant_made_up_is_dead_in_the_history():
    """If it fails, a label that was never given turns real in the next turn."""
    chat = Conversation(BUILDER)
    chat.ask("How long?", hits("a"))
    payload = chat.answered("45 days [S1], perhaps [S2].").ask("And bulbs?", hits("b"))
    assert "45 days [S1], perhaps &#91;S2]." in payload.text
    assert "S2" in payload.labels


def test_a_conversation_is_a_value():
    """If it fails, one user's turn is seen by another who shares the conversation."""
    chat = Conversation(BUILDER)
    before = Conversation(BUILDER)
    payload = chat.ask("How long?", hits("a"))
    assert chat == before
    assert chat.ask("How long?", hits("a")) == payload
    assert chat.answered("x").history == chat.answered("x", payload).history  # the same question twice is one question
    other = chat.ask("Or that?", hits("b"))
    with pytest.raises(OptionError, match="more than once"):
        chat.answered("x")
    assert chat.answered("x", payload).history[0].text == "How long?"
    assert chat.answered("x", other).history[0].text == "Or that?"
    assert not chat.history


def test_two_threads_never_get_each_others_question():
    """If it fails, an answer lands under another user's question."""
    chat = Conversation(BUILDER)

    def turn(number: int) -> str:
        payload = chat.ask(f"Question {number}?", hits("a"))
        return chat.answered("x", payload).history[0].text

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(turn, range(20))) == [f"Question {number}?" for number in range(20)]


def test_an_answer_may_be_messages():
    """If it fails, the tool calls of a turn cannot be kept."""
    chat = Conversation(BUILDER)
    chat.ask("How long?", hits("a"))
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    done = chat.answered([
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r"}, ("assistant", "45 days [S1]."),
    ])
    assert [one.role for one in done.history] == ["user", "assistant", "tool", "assistant"]
    anthropic = chat.answered([{"role": "assistant", "content": [
        {"type": "thinking", "thinking": "x", "signature": "y"}, {"type": "text", "text": "z"}]}])
    assert anthropic.history[1].native.shape == "anthropic"


def test_a_conversation_goes_on_in_another_process():
    """If it fails, a web service cannot keep its conversations in a store."""
    chat = Conversation(BUILDER)
    payload = Payload.from_dict(json.loads(json.dumps(chat.ask("How long?", hits(*"ab")).to_dict())))
    assert payload.question == "How long?"
    chat = chat.answered("45 days [S1].", payload)
    stored = json.dumps([[("user", one.text) if one.role == "user" else (one.role, one.text) for one in chat.history],
                         chat.labels.to_dict()])
    messages, labels = json.loads(stored)
    again = Conversation(BUILDER.add_history(messages).with_labels(Labels.from_dict(labels)))
    assert again.ask("And?", hits(*"bc")) == chat.ask("And?", hits(*"bc"))


@pytest.mark.parametrize("keep", ["found", "all"])
def test_sources_stay_in_place_and_order(keep):
    """If it fails, the prompt starts anew at every turn and no provider's cache can be read."""
    chat = Conversation(BUILDER, keep=keep)
    first = chat.ask("One?", hits(*"abcde"))
    chat = chat.answered("x", first)
    second = chat.ask("Two?", hits(*"ecfa"))
    stays = [name for name in order(first) if name in "eca" or keep == "all"]
    assert order(second)[:len(stays)] == stays
    assert set(order(second)) == {*stays, "f"}
    assert [message.role for message in second.messages] == ["system", "user", "user", "assistant", "user"]
    if keep == "all":  # the start is the same, to the end of the last source
        end = second.messages[1].content.index("\n</sources>")
        assert second.messages[1].content[:end] == first.messages[-1].content[:end]
    third = chat.answered("y", second).ask("Three?", hits(*"gacef"))
    stays = [name for name in order(second) if name in "acef" or keep == "all"]
    assert order(third)[:len(stays)] == stays
    assert [third.labels[label] for label in first.labels if label in third.labels] == [
        first.labels[label] for label in first.labels if label in third.labels
    ]
    for payload in (second, third):
        assert payload.tokens <= payload.budget.input


def test_the_trade_is_told_in_numbers():
    """If it fails, nobody can see what the order costs."""
    for keep, count, missing in (("found", 3, None), ("all", 5, 2)):
        chat = Conversation(BUILDER, keep=keep)
        first = chat.ask("One?", hits(*"abcde"))
        second = chat.answered("x").ask("Two?", hits(*"ecfa"))
        cost = {one.source.id: one.tokens for one in first.sources}
        stays = [one for one in order(first) if keep == "all" or one in "eca"]
        assert len(stays) == count
        note = second.report.notes[-1]
        assert f"{count} sources of the last turn stay" in note
        assert f"{sum(cost[name] for name in stays)} tokens" in note
        assert ("not found this time" in note) == bool(missing)
        if missing:
            assert f"{missing} of them were not found this time, which takes {cost['b'] + cost['d']}" in note
            assert f"of which {sum(cost.values())} start" in note
        else:  # a and c open the first prompt; then comes e, and the rest is missing
            before = order(first)[:next(i for i, name in enumerate(order(first)) if name not in "eca")]
            assert f"of which {sum(cost[name] for name in before)} start" in note


@pytest.mark.parametrize("keep", ["found", "all"])
def test_the_figure_for_the_cache_is_what_two_payloads_have_in_common(keep):
    """If it fails, the report promises a cached start that the provider does not see."""
    chat = Conversation(BUILDER, keep=keep)
    before = chat.ask("One?", hits(*"abcde"))
    fixed = before.tokens - sum(one.tokens for one in before.sources) - before.budget.question
    for names in ("ecfa", "gacef", "fh"):
        chat = chat.answered("x", before)
        payload = chat.ask("Next?", hits(*names))
        same = int(re.search(r"of which ([\d,]+) start", payload.report.notes[-1])[1].replace(",", ""))
        cached = payload.diff_prefix(before).cached
        assert same <= cached <= same + fixed
        before = payload


def test_only_what_is_the_same_stays():
    """If it fails, an old text is sent for one that was updated, or a label changes its chunk."""
    chat = Conversation(BUILDER, keep="all")
    first = chat.ask("One?", hits(*"abc"))
    updated = Source("b", "Fact b was updated.", 0.9)
    second = chat.answered("x").ask("Two?", [updated])
    assert second["S" + str(1 + order(first).index("b"))].text == "Fact b was updated."
    assert [one.source.pinned for one in second.sources] == [True, True, False]
    twice = Conversation(BUILDER, keep="all")
    payload = twice.ask("One?", [Source("x", "First.", 0.9), Source("x", "Second.", 0.8)])
    later = twice.answered("y").ask("Two?", [])
    assert order(payload) == ["x", "x~2"]
    assert order(later) == ["x"]


def test_standing_sources_stay_and_are_not_doubled():
    """If it fails, a source that every turn brings is sent twice."""
    rules = Source("rules", "Never open the housing.", pinned=True)
    chat = Conversation(BUILDER.add_sources([rules]), keep="all")
    first = chat.ask("One?", hits(*"ab"))
    second = chat.answered("x").ask("Two?", hits(*"bc"))
    assert order(first) == ["rules", "a", "b"]
    assert order(second) == ["rules", "a", "b", "c"]


def test_what_stays_takes_at_most_half_of_the_room():
    """If it fails, old sources grow until nothing new fits."""
    chat = Conversation(BUILDER.with_window(Window(1_500, answer=100)), keep="all")
    first = chat.ask("One?", hits(*"abcdefgh", words=100))
    second = chat.answered("x").ask("Two?", hits(*"stuvwxyz", words=100))
    stayed = [one for one in second.sources if one.source.pinned]
    assert stayed
    assert sum(one.tokens for one in stayed) <= first.budget.sources / 2
    assert [one for one in second.sources if not one.source.pinned]


def test_where_it_does_not_fit_all_is_packed_anew():
    """If it fails, a conversation ends with an error because of an option that saves money."""
    chat = Conversation(BUILDER.with_window(Window(1_000, answer=100)), keep="all")
    chat.ask("One?", hits(*"abcd", words=60))
    must = Source("must", "must " * 500, 1.0, required=True)
    payload = chat.answered("x").ask("Two?", [must])
    assert order(payload) == ["must"]
    assert "do not fit beside the rest" in payload.report.notes[-1]


def test_without_keep_each_turn_is_placed_anew():
    """If it fails, the default loses the best placement."""
    chat = Conversation(BUILDER)
    chat.ask("One?", hits(*"abc"))
    payload = chat.answered("x").ask("Two?", hits(*"cba"))
    assert order(payload) == ["c", "a", "b"]
    assert not payload.report.notes


BAD = [
    (lambda chat: Conversation("builder"), "builder: expected"),
    (lambda chat: Conversation(BUILDER.with_question("q")), "builder: it has a question"),
    (lambda chat: Conversation(BUILDER, keep="al"), "did you mean 'all'"),
    (lambda chat: Conversation(BUILDER, keep=True), "keep: unknown value"),
    (lambda chat: Conversation(BUILDER, last="x"), "last: expected"),
    (lambda chat: chat.ask("  "), "question: expected"),
    (lambda chat: chat.ask(None), "question: expected"),
    (lambda chat: Conversation(BUILDER).answered("x"), "nothing was asked"),
    (lambda chat: chat.answered(" "), "answer: expected"),
    (lambda chat: chat.answered([]), "answer: expected"),
    (lambda chat: chat.answered(None), "answer: expected"),
    (lambda chat: chat.answered({"role": "assistant", "content": "x"}), "answer: expected"),
    (lambda chat: chat.answered([("assistant", "x"), ("user", "y")]), "got a user's message"),
    (lambda chat: chat.answered("x", "payload"), "payload: expected"),
    (lambda chat: chat.answered("x", BUILDER.render()), "payload: expected"),
    (lambda chat: chat.answered("x").answered("y", chat.answered("x") and Conversation(BUILDER).ask("q", hits("z"))),
     "another conversation"),
]


@pytest.mark.parametrize(("call", "says"), BAD, ids=[says for _, says in BAD])
def test_bad_input_is_named(call, says):
    """If it fails, a wrong value ends in an AttributeError, or in a mixed-up conversation."""
    chat = Conversation(BUILDER)
    chat.ask("How long?", hits("a"))
    with pytest.raises(OptionError, match=says):
        call(chat)


def test_bad_messages_of_an_answer_are_named():
    """If it fails, a tool result without its call is sent with the next question."""
    chat = Conversation(BUILDER)
    chat.ask("How long?", hits("a"))
    with pytest.raises(SourceError, match="tool_call_id"):
        chat.answered([{"role": "tool", "tool_call_id": "c", "content": "r"}])


def test_a_reranker_is_awaited():
    """If it fails, a conversation cannot use a reranker, or keeps nothing where it does."""
    class Backwards:
        async def rerank(self, query, sources):
            return [float(index) for index in range(len(sources))]

    async def talk() -> None:
        chat = Conversation(BUILDER.with_rerank(Backwards()), keep="all")
        first = await chat.aask("One?", hits(*"abc"))
        assert order(first) == ["c", "a", "b"]
        second = await chat.answered("x").aask("Two?", hits("d"))
        assert order(second) == ["c", "a", "b", "d"]
        assert "3 sources of the last turn stay" in second.report.notes[-1]
        with pytest.raises(BudgetError):
            await chat.answered("x").aask("word " * 9_000, hits("d"))

    asyncio.run(talk())


def test_a_question_that_cannot_fit_is_an_error_all_the_same():
    """If it fails, the way out of a kept source hides the error that says what is too long."""
    chat = Conversation(BUILDER, keep="all")
    chat.ask("One?", hits("a"))
    for one in (chat, chat.answered("x")):
        with pytest.raises(BudgetError, match="shorten the question"):
            one.ask("word " * 9_000, hits("a"))


def test_a_conversation_can_be_copied_and_pickled():
    """If it fails, a conversation cannot be handed to another process."""
    chat = Conversation(BUILDER)
    chat.ask("One?", hits("a"))
    for one in (copy.copy(chat), copy.deepcopy(chat), pickle.loads(pickle.dumps(chat))):
        assert one == chat
        assert one.answered("x").history == chat.answered("x").history


MERGING = PromptBuilder(window=4_000, fields=("chunk", "page")).with_packing(dedup="merge", select="top")
MANUAL = "Wash the filters with warm water. Switch off the pump first. Check gauge B, then the valve. Close the lid."


def pieces(*spans: tuple[int, int], score: float = 2.0) -> list[Source]:
    """Chunks of one document, cut at these characters, the first the best."""
    return [
        Source(
            f"m{start}", MANUAL[start:end], score - rank / 100, document="manual", start=start, end=end,
            metadata={"page": start // 40 + 1},
        )
        for rank, (start, end) in enumerate(spans)
    ]


@pytest.mark.parametrize("keep", ["found", "all"])
def test_a_merged_passage_stays_in_its_place(keep):
    """If it fails, with dedup="merge" the start of the prompt changes at every turn, and the option does nothing."""
    chat = Conversation(MERGING, keep=keep)
    first = chat.ask("One?", [*pieces((0, 50), (40, 90)), *hits(*"ab")])
    assert first.sources[0].chunk_ids == ("m0", "m40")
    chat = chat.answered("x")
    second = chat.ask("Two?", [*hits(*"cba"), *pieces((0, 50), (40, 90), score=0.5)])
    assert [one.chunk_ids for one in second.sources[:3]] == [one.chunk_ids for one in first.sources]
    assert [one.label for one in second.sources[:3]] == [one.label for one in first.sources]
    third = chat.answered("y", second).ask("Three?", [*pieces((0, 50), (40, 90), score=0.5), *hits(*"bca")])
    for before, after in ((first, second), (second, third)):
        same = int(re.search(r"of which ([\d,]+) start", after.report.notes[-1])[1].replace(",", ""))
        assert same == sum(one.tokens for one in first.sources)
        assert same <= after.diff_prefix(before).cached
    assert "3 sources of the last turn stay" in second.report.notes[-1]


@pytest.mark.parametrize("keep", ["found", "all"])
def test_a_merged_passage_of_which_not_all_was_found_does_not_stay(keep):
    """If it fails, a passage loses the half that was not found, under a label that stood for both."""
    chat = Conversation(MERGING, keep=keep)
    chat.ask("One?", [*pieces((0, 50), (40, 90)), *hits("a")])
    second = chat.answered("x").ask("Two?", [*pieces((0, 50)), *hits(*"ab")])
    assert [one.chunk_ids for one in second.sources if one.label == "S1"] == []
    assert ("m0",) in second.labels.values()
    assert "1 source of the last turn stays" in second.report.notes[-1]
    assert ("1 more could not" in second.report.notes[-1]) == (keep == "all")


def test_a_passage_that_becomes_another_one_does_not_stay_and_that_is_told():
    """If it fails, the report says that a passage stays which has another text and another label."""
    chat = Conversation(MERGING, keep="found")
    first = chat.ask("One?", [*pieces((0, 50), (40, 90)), *hits("a")])
    second = chat.answered("x").ask("Two?", [*pieces((0, 50), (40, 90), (85, 106)), *hits("a")])
    assert {one.chunk_ids for one in second.sources} == {("a",), ("m0", "m40", "m85")}
    assert second["S3"].text == MANUAL
    assert "1 source of the last turn stays" in second.report.notes[-1]
    assert "1 more could not" in second.report.notes[-1]
    only = chat.answered("x", first).ask("Two?", pieces((0, 50), (40, 90), (85, 106)))
    assert only.report.notes[-1].startswith("keep=found: no source of the last turn stays; 1 more could not")


def test_pages_and_reranked_scores_promise_no_cached_start_too_much():
    """If it fails, the report counts on a start that another best chunk or other pages have changed."""
    chat = Conversation(MERGING, keep="found")
    first = chat.ask("One?", pieces((0, 50), (40, 90)))
    second = chat.answered("x").ask("Two?", pieces((40, 90), (0, 50)))
    assert second.sources[0].label == "S1"
    assert "0 start" in second.report.notes[-1]
    assert first.sources[0].attributes["page"] == "1-2"
