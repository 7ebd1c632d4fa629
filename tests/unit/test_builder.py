"""The builder and its payload: what each setting does, what is refused, and what the payload answers."""

from __future__ import annotations

import dataclasses

import pytest

from promptpack import (
    BudgetError,
    Cut,
    Labels,
    OptionError,
    Packing,
    Payload,
    PromptBuilder,
    Source,
    SourceError,
    TemplateLookupError,
    TemplateRenderError,
    TemplateSet,
    Window,
)

HITS = [
    Source("returns#1", "You can return any lamp within 45 days.", 0.9, updated="2026-03-01", metadata={"title": "R"}),
    Source("returns#3", "We send the money back within 6 working days.", 0.8),
    Source("warranty#1", "Faulty lamps are covered for three years.", 0.6),
]


def made(window: int | Window = 2000, **settings: object) -> PromptBuilder:
    return PromptBuilder(window, counter="words", **settings).add_sources(HITS).with_question("How long?")  # type: ignore[arg-type]


def test_a_builder_never_changes() -> None:
    """Sharing one builder between requests must not leak one user's sources into another's prompt."""
    base = PromptBuilder(2000, counter="words")
    one, two = base.add_sources(["Alpha."]), base.add_sources(["Beta."])
    assert "Beta" not in one.render().text
    assert "Alpha" not in two.render().text
    assert base.render().sources == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        base.window = 5  # type: ignore[misc]


def test_sources_are_appended_and_texts_are_replaced() -> None:
    built = made().add_sources(["More."]).with_question("A?").with_question("B?").with_system("X").with_system("Y")
    text = built.render().text
    assert text.count("<source_") == 4
    assert "A?" not in text
    assert "B?" in text
    assert "SYSTEM\nY\n\nAnswer only" in text


def test_the_best_source_opens_and_the_second_closes() -> None:
    assert [one.source.id for one in made().render().sources] == ["returns#1", "warranty#1", "returns#3"]


def test_without_a_question_its_block_is_left_out() -> None:
    for question in (None, "", "  \n"):
        assert "<question>" not in made().with_question(question).render().text


def test_without_anything_there_is_still_a_payload() -> None:
    payload = PromptBuilder(100, counter="words").render()
    assert payload.messages[-1].content == "<sources>\n</sources>"
    assert payload.tokens <= payload.budget.input


def test_require_sources() -> None:
    with pytest.raises(SourceError, match=r"no source is left to send: 3 came in \(3 min_score\)"):
        made().with_packing(min_score=5).render(require_sources=True)


def test_the_fields_are_shown_in_their_order_and_nothing_else_is() -> None:
    secret = Source("a", "Text.", metadata={"owner": "secret", "title": "T", "pages": None, "score": float("nan")})
    shown = PromptBuilder(2000, counter="words").with_fields("title", "chunk", "pages", "score").add_sources([secret])
    assert '<source_1 id="S1" title="T" chunk="a">' in shown.render().text
    assert "secret" not in shown.render().text


@pytest.mark.parametrize("name", ["id", "label", "n", "text", "Title", "", "a b", "x" * 40, 5])
def test_a_field_that_cannot_be_is_refused(name: object) -> None:
    with pytest.raises(OptionError):
        PromptBuilder(2000, fields=("chunk", name))  # type: ignore[arg-type]


def test_a_value_that_has_no_line_is_an_error_that_names_the_source() -> None:
    built = PromptBuilder(2000, counter="words", fields=("tags",))
    built = built.add_sources([Source("a", "x", metadata={"tags": [{}]})])
    with pytest.raises(SourceError, match=r"'a'.*tags") as caught:
        built.render()
    assert (caught.value.id, caught.value.field) == ("a", "tags")


@pytest.mark.parametrize(("settings", "told"), [
    ({"template": "defualt"}, "did you mean 'default'"), ({"counter": "o200k"}, "did you mean 'o200k_base'"),
    ({"escape": "tag"}, "did you mean 'tags'"), ({"escape": 5}, "escape"), ({"packing": "top"}, "Packing"),
    ({"labels": {}}, "Labels"), ({"fields": "title"}, "tuple"), ({"on_step": 5}, "callable"), ({"model": ""}, "model"),
    ({"fields": ("title", "title")}, "twice"),
])
def test_settings_that_cannot_be_are_refused_at_once(settings: dict[str, object], told: str) -> None:
    with pytest.raises(OptionError, match=told):
        PromptBuilder(2000, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("window", [0, -1, 10**12, 2.5, "8k", None, True])
def test_windows_that_cannot_be_are_refused(window: object) -> None:
    with pytest.raises(OptionError, match="window"):
        PromptBuilder(window)  # type: ignore[arg-type]


def test_with_packing_suggests_the_right_name() -> None:
    with pytest.raises(OptionError, match="did you mean 'select'"):
        made().with_packing(selec="top")
    with pytest.raises(OptionError, match="did you mean 'fold'"):
        made().with_packing(place="fild")


def test_a_template_set_that_is_not_there_is_a_lookup_error_too() -> None:
    with pytest.raises(TemplateLookupError) as caught:
        made().with_template("nonsense")
    assert isinstance(caught.value, LookupError)
    assert "default" in caught.value.known


def test_repeated_ids_are_kept_apart_and_shown_as_they_came() -> None:
    twins = [{"id": "file", "text": "One text."}, {"id": "file", "text": "Another text."}, {"id": 1, "text": "x y"},
             {"id": "1", "text": "z"}]
    payload = PromptBuilder(2000, counter="words").add_sources(twins).render()
    assert sorted(one for ids in payload.labels.values() for one in ids) == ["1", "1~2", "file", "file~2"]
    assert payload.text.count('chunk="file"') == 2
    assert any("'file~2'" in note for note in payload.report.notes)


def test_a_required_source_stays_and_says_so_where_it_cannot() -> None:
    rules = Source("rules", "never " * 30, 0.0, required=True)
    payload = made(Window(150, answer=10)).add_sources([rules]).render()
    assert "rules" in [one.source.id for one in payload.sources]
    with pytest.raises(BudgetError, match="required sources") as caught:
        made(Window(70, answer=10)).add_sources([rules]).render()
    smallest = caught.value.needed
    assert smallest is not None
    made(Window(smallest, answer=10)).add_sources([rules]).render()
    with pytest.raises(BudgetError):
        made(Window(smallest - 1, answer=10)).add_sources([rules]).render()


def test_the_smallest_window_that_works_works() -> None:
    with pytest.raises(BudgetError) as caught:
        made(Window(20, answer=5)).render()
    smallest = caught.value.needed
    assert smallest is not None
    assert made(Window(smallest, answer=5)).render().budget.left >= 0


def test_a_source_is_cut_where_it_may_be() -> None:
    long = Source("long", "One short sentence. " * 60, 0.95, cut=Cut(min_tokens=10))
    payload = made(Window(160, answer=10)).add_sources([long]).render()
    cut = next(one for one in payload.sources if one.source.id == "long")
    assert cut.text != long.text
    assert cut.text.startswith("One short sentence.")
    assert 'of 1,200: "One short sentence.' in payload.why("long")


def test_a_known_count_spares_counting_and_is_not_believed_in_the_account() -> None:
    counted = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    lying = [Source("a", "word " * 300, 0.9, tokens=3), Source("b", "tiny", 0.1)]
    payload = PromptBuilder(Window(200, answer=10), counter=count).add_sources(lying).with_question("?").render()
    assert payload.tokens <= 190
    assert [out.source.id for out in payload.dropped] == ["a"]


def test_pinned_sources_stand_before_the_history() -> None:
    pinned = Source("terms", "The terms.", 0.1, pinned=True)
    payload = made().add_sources([pinned]).add_history([("user", "Hi"), ("assistant", "Hello.")]).render()
    assert [one.role for one in payload.messages] == ["system", "user", "user", "assistant", "user"]
    assert "The terms." in payload.messages[1].text
    assert payload.sources[0].source.id == "terms"
    alone = made().add_sources([pinned]).render()
    assert alone.sources[0].source.id == "terms"


def test_history_leaves_by_whole_turns_oldest_first() -> None:
    turns = [("user", "old " * 40), ("assistant", "old " * 40), ("user", "new"), ("assistant", "newer")]
    payload = made(Window(200, answer=10)).add_history(turns).render()
    assert [one.content for one in payload.messages[1:-1]] == ["new", "newer"]
    assert [(turn.turn.index, turn.reason) for turn in payload.dropped_turns] == [(0, "over_budget")]
    assert "turns not sent" in payload.explain()


def test_a_system_turn_is_folded_only_where_it_is_allowed() -> None:
    with pytest.raises(SourceError, match="system"):
        made().add_history([("system", "Be rude.")])
    payload = made().with_system("A.").add_history([("system", "B."), ("user", "Hi")], allow=("system",)).render()
    assert payload.messages[0].text.startswith("A.\n\nB.\n\nAnswer only")


def test_tools_are_counted() -> None:
    schema = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
    plain, payload = made().render(), made().with_tools([schema]).render()
    assert payload.budget.tools > 0
    assert payload.tokens == plain.tokens + payload.budget.tools
    with pytest.raises(OptionError, match="tools"):
        made().with_tools({"a": 1}).render()


def test_an_unknown_model_is_counted_by_estimate_and_named() -> None:
    payload = PromptBuilder(2000, model="our-own-model-v3").add_sources(HITS).render()
    assert payload.budget.exact is False
    assert any("our-own-model-v3" in note for note in payload.report.notes)
    with pytest.raises(OptionError, match="did you mean"):
        PromptBuilder.for_model("gtp-4o")


def test_a_model_gives_window_counter_and_overhead() -> None:
    builder = PromptBuilder.for_model("gpt-4o")
    assert Window.of(builder.window).size == 128_000
    assert builder.add_sources(HITS).render().report.counter == "o200k_base"
    assert Window.of(PromptBuilder.for_model("gpt-4o", window=5000).window).size == 5000


def test_labels_carry_on_and_a_citation_of_an_earlier_turn_is_stale() -> None:
    first = made().render()
    second = made().with_labels(first.carry_labels()).with_packing(top_k=1).render()
    assert dict(second.labels) == {"S1": ("returns#1",)}
    assert second.verify("See [S1] and [S2].").stale == ("S2",)
    other = PromptBuilder(2000, counter="words", labels=Labels(prefix="Doc")).add_sources(HITS).render()
    assert list(other.labels) == ["Doc1", "Doc2", "Doc3"]
    assert "Cite them like [Doc1]." in other.text


def test_the_payload_answers_for_each_source() -> None:
    payload = made().with_packing(top_k=2).render()
    assert payload["S1"].source.id == "returns#1"
    assert payload.why("returns#1").startswith("returns#1: sent as S1: rank 1, place 1 of 2 (start)")
    assert "top_k" in payload.why("warranty#1")
    with pytest.raises(SourceError, match="no source with the id 'nobody'"):
        payload.why("nobody")
    with pytest.raises(SourceError, match="S9"):
        payload["S9"]


def test_steps_are_told_in_order() -> None:
    steps: list[str] = []
    made(on_step=lambda name, details: steps.append(name)).render()
    assert steps == ["frame", "history", "pack", "measure"]


def test_an_escaper_of_your_own_makes_the_text_and_attributes_stay_safe() -> None:
    from markupsafe import Markup

    built = PromptBuilder(2000, counter="words", escape=lambda text: Markup(text.upper()))
    text = built.add_sources([Source("a", "quiet", metadata={"title": 'say "hi"'})]).with_question("why").render().text
    assert "QUIET" in text
    assert "WHY" in text
    assert 'title="say &quot;hi&quot;"' in text
    with pytest.raises(OptionError, match="Markup"):
        PromptBuilder(2000, escape=str.upper).add_sources(["x"]).render()  # type: ignore[arg-type]


@pytest.mark.parametrize(("user", "told"), [
    ("{{ sources }}", "the question"), ("{{ question }}", "the source"),
    ("{% for s in sources %}{{ s.label }}{% endfor %}{{ question }}", "the source S1"),
    ("{{ sources }}{{ qestion }}", "qestion"), ("{{ sources }}{{ question", "line 1"),
    ("{{ sources }}{{ question.__class__ }}", "template"), ("{{ sources[0] }}{{ question }}", "text and numbers"),
])
def test_a_template_that_leaves_something_out_is_an_error(user: str, told: str) -> None:
    with pytest.raises(TemplateRenderError, match=told):
        made(template=TemplateSet.from_string(user)).render()


def test_a_template_may_iterate() -> None:
    mine = TemplateSet.from_string(
        "{% for s in sources %}{{ s.n }}. {{ s.text }} ({{ s.chunk }})\n{% endfor %}{{ question }}"
    )
    payload = made(template=mine).render()
    assert "1. You can return any lamp within 45 days. (returns#1)" in payload.text
    assert payload.tokens <= payload.budget.input


def test_the_result_is_a_value() -> None:
    payload = made().render()
    assert payload == made().render()
    assert Payload.from_dict(payload.to_dict()) == payload
    with pytest.raises(dataclasses.FrozenInstanceError):
        payload.messages = ()  # type: ignore[misc]
    assert Packing() == Packing()


def test_a_payload_does_not_depend_on_the_payloads_before_it() -> None:
    """What one payload may leave alone, because it has no such label, the next must still escape."""
    def rendered(n: int) -> str:
        hits = [Source(f"c{at}", f"Text {at}.", 1 - at / 100, metadata={"title": "see [S9]"}) for at in range(n)]
        return PromptBuilder(4000, counter="words").add_sources(hits).render().text

    assert rendered(2).count("[S9]") == 2
    assert "[S9]\"" not in rendered(12)
    assert rendered(2).count("[S9]") == 2


def test_a_label_is_in_the_payload_or_not() -> None:
    payload = made().render()
    assert "S1" in payload
    assert "S9" not in payload


@pytest.mark.parametrize(
    ("builder", "note"),
    [
        (PromptBuilder(100).add_sources(["word " * 300]).with_question("Why?"), "no source is sent, of 1"),
        (PromptBuilder(1000), "neither a source nor a question came in"),
    ],
)
def test_a_payload_without_sources_says_so(builder, note):
    """Else a model is told to answer from the sources, and nobody sees that there are none."""
    assert any(one.startswith(note) for one in builder.render().report.notes)


def test_a_payload_that_asks_without_sources_needs_no_note():
    assert PromptBuilder(1000).with_question("Why?").render().report.notes == ()


@pytest.mark.parametrize(("schema", "place"), [
    ({"a": float("nan")}, "tools[1]['a']"), ({"a": {"b": [1.5, (2, float("-inf"))]}}, "tools[1]['a']['b'][1][1]"),
])
def test_a_tool_schema_that_is_no_json_is_refused(schema: dict[str, object], place: str) -> None:
    """If this fails, a request is sent whose body no provider can read."""
    with pytest.raises(OptionError) as caught:
        made().with_tools([{"a": 1.5}, schema])
    assert str(caught.value).startswith(f"{place}: JSON has no form for ")
    assert caught.value.name == "tools"
