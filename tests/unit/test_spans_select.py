"""select="spans" in pack() and in the builder: what is taken, at which ranges, and what is said about the rest."""

from __future__ import annotations

import subprocess
import sys

import pytest

from promptpack import Payload, PromptBuilder, Window
from promptpack.errors import OptionError
from promptpack.packing import Packing, pack
from promptpack.packing.by_rank import fold, u_curve
from promptpack.packing.spans import Spans
from promptpack.packing.spans_parts import joined
from promptpack.source import Source

FILLER = "Our shops are open from nine to five on every working day of the week."
FEE = "The fee for a late payment of an invoice is five euros for each day."
AFTER = "It is charged together with the next invoice that a customer gets."
OTHER = "Parcels are sent by ordinary post, and arrive after three or four days."
BARE = Spans(edges=False)  # the marks at the edges are tested in test_spans_context
SPANS = Packing(select=BARE, place="best_first")
QUESTION = "What is the fee for a late payment?"


def words(text):
    return len(text.split())


HITS = [
    Source("a", " ".join([FILLER, OTHER, FEE, AFTER]), 0.9, document="terms", metadata={"title": "Terms"}),
    Source("b", " ".join([OTHER, FILLER]), 0.8, document="shops"),
]


def test_the_sentence_is_sent_where_the_chunk_does_not_fit():
    """If this fails, a chunk that is too large is lost, although what is asked for would fit."""
    packed = pack(HITS, words(FEE) + 2, packing=SPANS, question=QUESTION)
    assert [one.text for one in packed] == [FEE]
    placed = packed.sources[0]
    start = HITS[0].text.index(FEE)
    assert placed.ranges == ((start, start + len(FEE)),)
    assert placed.cut
    assert 0 < placed.value <= 1
    assert packed.used == words(FEE)
    told = packed.dropped[0]
    assert (told.source.id, told.reason.value) == ("b", "not_selected")
    assert "the runs chosen are worth more" in told.detail


def test_what_fits_is_sent_whole():
    """If this fails, text is left out although there is room for it."""
    packed = pack(HITS, 1000, packing=SPANS, question="What is the fee?")
    assert [one.text for one in packed] == [hit.text for hit in HITS]
    assert all(one.ranges == () and not one.cut for one in packed)
    unlimited = pack(HITS, None, packing=SPANS, question=QUESTION)
    assert [one.text for one in unlimited] == [hit.text for hit in HITS]


@pytest.mark.parametrize("question", [None, "", "   ", "wann ist Abgabetermin"])
@pytest.mark.parametrize("budget", [0, 5, 15, 30, 50, 60, 90])
def test_without_a_question_never_below_top(question, budget):
    """If this fails, spans without anything to go by send less than top does."""
    top = pack(HITS, budget, packing=Packing(select="top"), question=question)
    spans = pack(HITS, budget, packing=SPANS, question=question)
    whole = {one.source.id for one in spans if one.text == one.source.text}
    assert {one.source.id for one in top} <= whole
    assert spans.used <= budget


def test_room_that_top_leaves_is_filled():
    """If this fails, spans without a question are no better than top."""
    packed = pack(HITS, words(FEE), packing=SPANS)
    assert len(packed) == 1
    assert packed.sources[0].ranges


def test_overlapping_windows_are_not_sent_twice():
    """If this fails, windows over one document fill the prompt with the same sentences."""
    hits = [
        Source("a", " ".join([FILLER, FEE, AFTER]), 0.9, document="d"),
        Source("b", " ".join([AFTER, OTHER]), 0.8, document="d"),
    ]
    packed = pack(hits, 1000, packing=SPANS, question=QUESTION)
    assert [one.text for one in packed] == [hits[0].text, OTHER]


def test_required_sources_come_first_and_are_not_repeated():
    """If this fails, a required source can be lost to spans, or its sentences come again."""
    hits = [*HITS, Source("r", " ".join([FEE, AFTER]), 0.1, document="terms", required=True)]
    packed = pack(hits, words(FEE) + words(AFTER) + words(FEE), packing=SPANS, question=QUESTION)
    assert "r" in packed.ids
    texts = [one.text for one in packed if one.source.id != "r"]
    assert all(FEE not in text for text in texts)


def test_limits_in_number():
    """If this fails, top_k or max_per_document does not hold for spans."""
    text = "{} It is the fee number {} of a long list."
    hits = [Source(str(k), text.format(FEE, k), 1 - k / 10, document="d") for k in range(6)]
    assert len(pack(hits, 500, packing=Packing(select="spans", top_k=2), question=QUESTION)) == 2
    packed = pack(hits, 500, packing=Packing(select="spans", max_per_document=1), question=QUESTION)
    assert len(packed) == 1
    assert {drop.reason.value for drop in packed.dropped} == {"per_document"}


def test_what_cannot_be_sent_takes_no_place_within_the_limits():
    """If this fails, a long sentence that is never sent keeps the answer out, and the reason told is not true."""
    long = " ".join(f"word{k}" for k in range(200))
    hits = [Source("long", long, 0.9, document="d"), Source("fee", FEE, 0.8, document="d"), Source("x", FILLER, 0.7)]
    for limits in ({"top_k": 1}, {"max_per_document": 1}):
        packed = pack(hits, words(FEE), packing=Packing(select="spans", **limits), question=QUESTION)
        assert packed.ids == ("fee",)
        assert packed.dropped[0].reason.value == "over_budget"
    builder = PromptBuilder(Window(120, answer=0)).with_packing(top_k=1)
    payload = builder.add_sources(hits).with_question(QUESTION).render()
    assert [one.source.id for one in payload.sources] == ["fee"]


def test_within_the_limits_never_below_top_without_a_question():
    """If this fails, a source that "top" sends loses its place to one of which only a part would be sent."""
    hits = [Source("a", f"{FILLER} {OTHER} {FEE}", 0.9, document="x"), Source("b", FEE, 0.8, document="x"),
            Source("c", FILLER, 0.7, document="y")]
    for limits in ({"top_k": 1}, {"max_per_document": 1}):
        top = pack(hits, words(FEE), packing=Packing(select="top", **limits))
        assert pack(hits, words(FEE), packing=Packing(select="spans", **limits)).ids == top.ids == ("b",)


def test_changed_texts_are_taken_whole():
    """If this fails, ranges are not those of the source."""
    hits = [
        Source("a", f"{FILLER} {FEE}", 0.9, document="d", start=0, end=len(FILLER) + 1 + len(FEE)),
        Source("b", f"{FEE} {AFTER}", 0.8, document="d", start=len(FILLER) + 1,
               end=len(FILLER) + len(FEE) + len(AFTER) + 2),
    ]
    packed = pack(hits, 1000, packing=Packing(select="spans", dedup="merge"), question=QUESTION)
    assert [one.text for one in packed] == [f"{FILLER} {FEE} {AFTER}"]
    assert packed.sources[0].ranges == ()


def test_titles_and_links_count():
    """If this fails, a second document that the first one names is not preferred."""
    hits = [
        Source("film", "The famous film Solar Wind was directed by Ada Berg, and was shown in 1990.", 3.0,
               document="1", metadata={"title": "Solar Wind"}),
        Source("rain", "She was born in a village by the sea, and lived there for all of her life.", 1.0,
               document="2", metadata={"title": "Rain"}),
        Source("ada", "She was born in a town by the river, and stayed there for all of her days.", 1.0,
               document="3", metadata={"title": "Ada Berg"}),
    ]
    question = "Where was the director of the film Solar Wind born?"
    assert set(pack(hits, 34, packing=SPANS, question=question).ids) == {"film", "ada"}


def test_a_scorer_of_sentences():
    """If this fails, a user's own model does not count."""
    asked = []

    def scorer(question, sentences):
        asked.append((question, list(sentences)))
        return [float("ordinary post" in one) for one in sentences]

    packing = Packing(select=Spans(scorer, weight=20.0, edges=False), place="best_first")
    packed = pack(HITS[:1], words(OTHER), packing=packing, question="How do they come?")
    assert [one.text for one in packed] == [OTHER]
    assert asked == [("How do they come?", [FILLER, OTHER, FEE, AFTER])]


@pytest.mark.parametrize(
    "answer", [[1.0], [float("nan")] * 4, None, ["x"] * 4, [float("inf")] * 4, [10**400] * 4], ids=str
)
def test_a_scorer_that_answers_badly(answer):
    """If this fails, a bad answer of a scorer passes, or ends in a bare TypeError."""
    with pytest.raises(OptionError, match=r"Spans\.scorer"):
        pack(HITS[:1], 20, packing=Packing(select=Spans(lambda question, sentences: answer)), question=QUESTION)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Spans("model"), lambda: Spans(weight=0), lambda: Spans(weight=float("nan")),
        lambda: Packing(select="span"), lambda: Packing(select=7),
    ],
)
def test_settings_that_cannot_be(make):
    """If this fails, a typing error is found only when a prompt is packed."""
    with pytest.raises(OptionError):
        make()


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "x", "\u0301", "。", "a" * 3000, "\ud800 lone", "\r\n" * 9, "A.\x00 B."], ids=range(10)
)
def test_odd_texts(text):
    """If this fails, a strange chunk breaks the packing of all."""
    hits = [Source("odd", text, 0.5, document="d"), *HITS]
    for budget in (0, 1, 14, 60, 500):
        packed = pack(hits, budget, packing=SPANS, question=QUESTION)
        assert packed.used <= budget
        assert len(packed.sources) + len(packed.dropped) == 3


def test_prices_are_asked_about_once_for_each_unit():
    """If this fails, a tokenizer counts the same text over and over: the time is quadratic in the sentences."""
    text = " ".join(f"This is the sentence with the number {n} of a long text." for n in range(120))
    counted = []

    def cost(source):
        counted.append(len(source.text))
        return words(source.text)

    pack([Source("long", text, 1.0)], 200, packing=SPANS, cost=cost, question="Which number has the sentence 77?")
    assert sum(counted) < 4 * len(text)


def test_a_counter_that_does_not_add_up():
    """If this fails, a prompt is too large where a run costs more than its sentences."""
    def cost(source):
        return len(source.text.split()) ** 2 // 10

    for budget in (3, 20, 100, 300):
        packed = pack(HITS, budget, packing=SPANS, cost=cost, question=QUESTION)
        assert sum(cost(Source("x", one.text)) for one in packed) == packed.used <= budget


IN_SCRIPTS = {
    "zh": (
        "滞纳金是多少？",
        [
            "商店从星期一到星期五的早上九点开门营业。", "包裹通过普通邮件寄出，三天后到达。",
            "每逾期一天收取滞纳金五欧元，直到付清为止。",
        ],
    ),
    "de": (
        "Wie hoch ist die Mahngebühr?",
        [
            "Die Läden sind von Montag bis Freitag geöffnet. ", "Pakete kommen mit der Post nach drei Tagen. ",
            "Die Mahngebühren betragen fünf Euro für jeden Tag.",
        ],
    ),
    "ar": (
        "كم رسوم التأخير؟",
        [
            "المتاجر مفتوحة من الاثنين إلى الجمعة طوال اليوم. ", "تصل الطرود بالبريد العادي بعد ثلاثة أيام. ",
            "رسوم التأخير خمسة يورو عن كل يوم من الأيام.",
        ],
    ),
}


@pytest.mark.parametrize("language", IN_SCRIPTS)
def test_every_script(language):
    """If this fails, spans find nothing in some scripts."""
    question, parts = IN_SCRIPTS[language]
    hits = [Source("a", "".join(parts), 1.0)]
    packed = pack(hits, len(parts[-1]), packing=SPANS, question=question, cost=lambda source: len(source.text))
    assert [one.text for one in packed] == [parts[-1]]


def built(**changes):
    builder = PromptBuilder(window=330, packing=SPANS, **changes)
    filler = Source("c", " ".join([OTHER, FILLER, FILLER.replace("shops", "offices")] * 4), 0.2, document="more")
    return builder.add_sources([*HITS, filler]).with_question(QUESTION).render()


def test_the_builder_sends_runs_that_fit():
    """If this fails, the payload passes its window, or does not say which part of a source it holds."""
    payload = built()
    assert payload.tokens <= payload.budget.window
    cut = [one for one in payload.sources if one.ranges]
    assert cut
    for one in cut:
        assert one.text == joined(one.source.text, one.ranges)
        assert one.text in payload.text
    assert any(FEE in one.text for one in payload.sources)
    assert f"characters {cut[0].ranges[0][0]}-{cut[0].ranges[0][1]} of {len(cut[0].source.text)}" in payload.explain()
    assert "characters" in payload.why(cut[0].label)


def test_a_payload_with_ranges_is_stored():
    """If this fails, what is read back no longer says which part was sent."""
    payload = built()
    assert Payload.from_dict(payload.to_dict()) == payload


def test_citations_over_spans_have_exact_offsets():
    """If this fails, a citation of a span points to another place of the source."""
    payload = built()
    cited = next(one for one in payload.sources if FEE in one.text)
    found = payload.verify(f'It says "{FEE}" [{cited.label}].')
    assert found.ok
    start, _ = cited.ranges[0] if cited.ranges else (0, 0)
    at = cited.text.index(FEE)
    assert cited.source.text[start + at:start + at + len(FEE)] == FEE
    missing = payload.verify(f"It is so [S{len(payload.sources) + 5}].")
    assert not missing.ok


def test_numpy_and_regex_load_late():
    """If this fails, importing the library, or packing with top, pays for spans."""
    code = (
        "import sys; from promptpack.packing.pipeline import pack, Packing; from promptpack.source import Source; "
        "pack([Source('a', 'One.')], 9); Packing(select='spans'); "
        "print([name for name in ('numpy', 'promptpack.packing.spans') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_worth_most_opens_the_prompt():
    """If this fails, the strongest evidence stands where the retriever's rank puts it, in the middle."""
    hits = [*[Source(f"n{k}", f"{OTHER} {k}", 0.9 - k / 100) for k in range(5)], Source("fee", FEE, 0.85)]
    packed = pack(hits, 500, packing=Packing(select="spans"), question=QUESTION)
    assert packed.ids[0] == "fee"
    assert packed.sources[0].rank == 6
    plain = pack(hits, 500, packing=Packing(select="spans"))
    assert plain.ids[0] == "n0"


@pytest.mark.parametrize("question", ["How many days are returns free for?", None])
def test_a_value_is_a_probability_however_many_sentences_make_it_up(question: str | None) -> None:
    for n in range(1, 25):
        text = " ".join(f"Returns of article {i} are free for {i} days from their delivery." for i in range(n))
        packed = pack([Source("a", text, 0.5)], 5000, packing=Packing(select="spans"), question=question)
        assert 0 <= (packed.sources[0].value or 0) <= 1


def test_where_spans_place_by_worth_the_second_best_is_not_last_among_many():
    """If this fails, the default does not follow the curve where it knows what sources are worth, or elsewhere, too."""
    hits = [Source(f"n{k}", f"The fee number {k} for a late payment is {k} euros.", 0.9 - k / 100) for k in range(9)]

    def ids(question, **settings):
        packed = pack(hits, 500, packing=Packing(select="spans", **settings), question=question)
        return [one.source.id for one in packed]

    by_worth = ids(QUESTION, place="best_first")
    assert ids(QUESTION) == ids(QUESTION, place="u_curve") == u_curve(by_worth)
    assert ids(QUESTION)[:2] == by_worth[:2]
    assert ids(QUESTION, place="fold") == fold(by_worth)
    assert ids(None) == fold([one.id for one in hits])  # without a question ranks decide, as they do elsewhere
    top = pack(hits, 500, question=QUESTION)
    assert list(top.ids) == fold([one.id for one in hits])


@pytest.mark.parametrize("extra", [{"required": True}, {}], ids=["required", "min_sources"])
def test_what_has_to_be_sent_stands_by_its_worth(extra):
    """If this fails, a required source without a word of the question opens or closes the prompt."""
    hits = [Source(f"n{k}", f"The fee number {k} for a late payment is {k} euros.", 0.9 - k / 100) for k in range(5)]
    rules = Source("rules", " ".join([OTHER] * 9), 0.5, **extra)
    settings = {} if extra else {"min_sources": 6}
    packed = pack([*hits, rules], 160 if extra else 60, packing=Packing(select="spans", **settings), question=QUESTION)
    by_worth = sorted(packed, key=lambda one: -one.value)
    assert by_worth[-1].source.id == "rules"
    assert packed.ids.index("rules") == len(packed) // 2  # the weakest is in the middle
    assert all(0 <= one.value <= 1 for one in packed)


@pytest.mark.parametrize("room", [400, 700, 900])
def test_a_long_text_fills_the_room(room):
    """If this fails, a manual in one chunk is cut to a few sentences, however much room there is."""
    text = " ".join(f"Article {k} can be returned within {k} days of delivery." for k in range(100))
    packed = pack([Source("a", text, 0.9)], room, packing=SPANS, question="How long are returns of an article free?")
    assert room * 7 // 8 < packed.used <= room
    ((start, end),) = packed.sources[0].ranges or ((0, len(text)),)
    assert packed.sources[0].text == text[start:end]
