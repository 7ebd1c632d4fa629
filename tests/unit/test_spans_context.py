"""What goes along with a run: headings, the opening of a text, and the marks for what is left out."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from promptpack import PromptBuilder, Window
from promptpack.errors import OptionError
from promptpack.packing import Packing, pack
from promptpack.packing.spans import Spans
from promptpack.packing.spans_context import context, leaning, openers
from promptpack.packing.spans_headings import headings
from promptpack.packing.spans_text import units
from promptpack.source import Source

OPEN = "Our shops are open from nine to five on every working day of the week."
POST = "Parcels are sent by ordinary post, and arrive after three or four days."
LAMP = "The reading lamp of the series Aurora comes with a bulb and a plug."
FEE = "The fee for a late payment of an invoice is five euros for each day."
FAR = "Whoever comes by car finds a place for it behind the house, where there are forty of them, and a guard at night."
LEANS = "It has a warranty of three years for all faults of the wiring."
BARE = Spans(edges=False)
SPANS = Packing(select=BARE, place="best_first")


def words(source):
    return len(source.text.split())


def sent(text, question, budget, *, metadata=None, select=BARE, cost=words):
    packing = Packing(select=select, place="best_first")
    packed = pack([Source("a", text, 1.0, metadata=metadata or {})], budget, packing=packing, cost=cost,
                  question=question)
    assert packed.used == sum(cost(Source("x", one.text)) for one in packed) <= budget
    return packed.sources[0] if packed.sources else None


UNDER = f"# Shops\n\n{OPEN} {POST}\n\n## Late payment\n\n{LAMP} {POST} {FEE}"


def test_a_heading_goes_along_with_what_it_governs():
    """If this fails, a run stands there without the heading that says what it is about."""
    one = sent(UNDER, "What is the fee for an invoice?", 20)
    assert one.text == f"## Late payment\n… {FEE}"
    assert [UNDER[a:b] for a, b in one.ranges] == ["## Late payment", FEE]


def test_a_heading_stays_away_where_there_is_no_room_for_it():
    """If this fails, the heading pushes out the sentence, or passes the budget."""
    assert sent(UNDER, "What is the fee for an invoice?", words(Source("x", FEE))).text == FEE


@pytest.mark.parametrize("metadata", [{"title": "Late payment"}, {"title": "Terms", "section": "Of late PAYMENT"}])
def test_a_heading_that_the_title_says_already_is_not_sent_again(metadata):
    """If this fails, the same words are paid for twice in every passage."""
    assert sent(UNDER, "What is the fee for an invoice?", 20, metadata=metadata).text == FEE


def test_a_row_goes_along_with_the_first_row_of_its_table():
    """If this fails, figures are sent without what they are figures of; below the table its heading counts again."""
    rows = "".join(f"| {name} of a member of ours | 5 euros | a year |\n" for name in ("key", "card", "bag"))
    text = f"# Fees\n\n| what is lost | what it costs | how often |\n|---|---|---|\n{rows}\n{POST} {LAMP} {FEE}"
    one = sent(text, "What does the bag cost?", 27)
    assert one.text == "| what is lost | what it costs | how often |\n… | bag of a member of ours | 5 euros | a year |"
    assert sent(text, "What is the fee for an invoice?", 18).text == f"# Fees\n… {FEE}"


def test_what_touches_its_heading_is_one_run_with_it():
    """If this fails, there is a mark between a heading and the sentence right below it."""
    text = f"{OPEN} {POST}\n\n## Late payment of invoices, and what it costs\n\n{FEE} {LAMP}"
    one = sent(text, "What is the fee?", 26)
    assert one.text.endswith(f"invoices, and what it costs\n\n{FEE}")
    assert "…" not in one.text


def test_the_opening_goes_along_with_a_sentence_that_leans_on_it():
    """If this fails, "It" is sent without what it stands for."""
    text = f"{LAMP} {POST} {FAR} {LEANS}"
    one = sent(text, "How many years of warranty does the wiring have?", 28)
    assert one.text == f"{LAMP} … {LEANS}"
    assert [text[a:b] for a, b in one.ranges] == [LAMP, LEANS]
    assert sent(text, "How many years of warranty does the wiring have?", 14).text == LEANS


def test_a_sentence_that_stands_alone_goes_alone():
    """If this fails, room is spent on an opening that nothing refers to."""
    text = f"{LAMP} {POST} {FAR} {FEE}"
    assert sent(text, "What is the fee for a late payment of an invoice?", 32).text == FEE


def test_the_opening_is_not_repeated_where_it_is_sent_elsewhere():
    """If this fails, overlapping windows of one document bring their opening again and again."""
    hits = [
        Source("a", f"{LAMP} {FEE}", 0.9, document="d"), Source("b", f"{LAMP} {OPEN} {FAR} {LEANS}", 0.8, document="d"),
    ]
    packed = pack(hits, 45, packing=SPANS, cost=words, question="Is there a fee for the lamp, and years of warranty?")
    assert " ".join(one.text for one in packed).count(LAMP) == 1


def test_marks_at_the_edges_where_they_are_asked_for():
    """If this fails, a reader cannot see where a passage was cut, or its marks are not paid for."""
    text = f"{LAMP} {POST} {FEE} {OPEN}"
    question = "What is the fee for a late payment of an invoice?"
    chars = 4 + len(FEE)
    plain = sent(text, question, chars, cost=lambda source: len(source.text))
    assert plain.text == FEE
    marked = sent(text, question, chars, select="spans", cost=lambda source: len(source.text))
    assert marked.text == f"… {FEE} …"
    assert marked.ranges == plain.ranges
    short = sent(text, question, chars - 1, select=Spans(edges=True), cost=lambda source: len(source.text))
    assert FEE not in short.text
    whole = sent(text, question, 999, select=Spans(edges=True), cost=lambda source: len(source.text))
    assert (whole.text, whole.ranges) == (text, ())
    first = sent(f"{FEE} {OPEN}", question, chars, select=Spans(edges=True), cost=lambda source: len(source.text))
    assert first.text == f"{FEE} …"


def test_edges_that_are_no_switch():
    """If this fails, a typing error is taken for an answer."""
    with pytest.raises(OptionError, match=r"Spans\.edges.*'yes'"):
        Spans(edges="yes")


@pytest.mark.parametrize("edges", [False, True])
def test_the_payload_says_where_each_part_stands(edges):
    """If this fails, a citation of a sentence behind a gap leads to another place of the source."""
    more = [Source(f"n{k}", f"{OPEN} Number {k} of a long list of things that are of no use.", 0.1) for k in range(9)]
    text = f"{LAMP} {POST} {FAR} {LEANS} {POST}"
    builder = PromptBuilder(Window(127, answer=0), packing=Packing(select=Spans(edges=edges)))
    question = "How many years of warranty does the wiring of the lamp have?"
    payload = builder.add_sources([Source("lamp", text, 0.9), *more]).with_question(question).render()
    one = next(one for one in payload.sources if one.source.id == "lamp")
    assert len(one.ranges) == 2
    assert one.text == (f"{LAMP} … {LEANS} …" if edges else f"{LAMP} … {LEANS}")
    found = payload.verify(f'It says "three years for all faults" [{one.label}].').quotes[0]
    ((start, end),) = one.in_source(*found.span)
    assert text[start:end] == "three years for all faults"
    assert [text[a:b] for a, b in one.in_source(0, len(one.text))] == [LAMP, LEANS]
    assert one.part() == ", ".join(f"{a}-{b}" for a, b in one.ranges).join(["characters ", f" of {len(text)}"])
    assert one.text in payload.text


def test_where_a_part_stands_cannot_be_told_of_a_changed_text():
    """If this fails, offsets of a merged text are given out as those of one chunk."""
    hits = [Source("a", f"{LAMP} {POST}", 0.9, document="d"), Source("b", f"{POST} {FEE}", 0.8, document="d")]
    payload = PromptBuilder(4096).with_packing(dedup="merge").add_sources(hits).with_question("Fee?").render()
    assert payload.sources[0].text != payload.sources[0].source.text
    assert payload.sources[0].in_source(0, 10) == ()
    plain = PromptBuilder(4096).add_sources(hits[:1]).with_question("Fee?").render().sources[0]
    assert plain.in_source(4, 11) == ((4, 11),)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# Terms of use.\nText.", ["# Terms of use."]),
        ("#hashtag\n\nText here.", ["#hashtag"]),
        ("Fees\n\nThere are none.", ["Fees"]),
        ("Fees:\r\n\r\nThere are none.", ["Fees:"]),
        ("Fees\nThere are none, neither here nor in any other of our shops.", ["Fees"]),
        ("A text of a mail\nthat somebody wrapped\nat some width.", []),
        ("It ends.\n\nMore of it.", []),
        ("It ends. And goes on\n\nMore of it.", []),
        ("- One\n\n* Two\n\n| a | b |\n\n> Three\n\n---\n\n1.\n\n{x}\n\nEnd.", []),
        ("**Fees**\n\nThere are none.", ["**Fees**"]),
        ("手数料\n\nありません。", ["手数料"]),
        ("手数料はありません。\n\nはい。", []),
        ("กรุงเทพ\n\nเมืองหลวง", []),
        ("```\n# a comment\n```\n\nText.", []),
        ("x" * 81 + "\n\nText.", []),
        ("Fees\n====\n\nNone.\n\nKeys\r\n---\r\n\nNone.", ["Fees", "Keys"]), ("Text\nFees\n----\n", []),
        ("", []), ("\n\n\n", []), ("#", []), ("##\n\n", []),
    ],
)
def test_what_a_heading_is(text, found):
    """If this fails, a line of text, of a list or of code is sent as the heading of what is below it, or none is."""
    assert [text[start:end] for start, end in headings(text)] == found


LEANING = {
    "ar": ("فتح المتحف في القرن الماضي على يد الملك من أجل الناس. وقد كان مجانيا في البداية.", 1),
    "de": ("Die Lampe ist mit einem Stecker versehen. Sie hat eine Garantie von drei Jahren.", 1),
    "en": ("The lamp was sold with the plug. It has a warranty of three years.", 1),
    "es": ("La lámpara se vende con el enchufe de la casa. Además tiene una garantía.", 1),
    "fr": ("La lampe est vendue avec une prise de la maison. Elle a une garantie.", 1),
    "hi": ("लैम्प की कीमत में प्लग का दाम है। यह तीन साल के लिए है।", 1),
    "it": ("La lampada è venduta con la spina della casa. Inoltre ha una garanzia.", 1),
    "it, an article": ("La lampada è venduta con la spina della casa. Il prezzo è di dieci euro.", 0),
    "ja": ("このランプは東京で作られました。また、保証は三年です。", 1),
    "ko": ("이 등은 서울에 있는 공장에서 만드는 것이다. 그러나 보증은 삼 년이다.", 1),
    "nl": ("De lamp is met een stekker van het huis te koop. Bovendien is er garantie.", 1),
    "de, an article": ("Die Lampe ist mit einem Stecker versehen. Die Garantie ist von drei Jahren.", 0),
    "pt": ("A lâmpada é vendida com a ficha da casa. Além da garantia há um prazo.", 1),
    "ru": ("Лампа была сделана в Москве и продана. Она имеет гарантию на три года.", 1),
    "th": ("โคมไฟทำในกรุงเทพ มันมีประกันสามปี", 0),
    "zh": ("这盏灯是在北京制造的。但保修期为三年。", 1),
    "no language": ("Lampe Stecker Birne Kabel. Es Es Es.", 0),
    "quoted": ("The lamp was sold with the plug. \"It has a warranty,\" said the man.", 1),
}


@pytest.mark.parametrize("name", LEANING)
def test_what_leans(name):
    """If this fails, a language is not understood, or the articles of one are taken for the pronouns of another."""
    text, many = LEANING[name]
    from promptpack.packing.sentences import spans

    found = spans(text)
    if name == "th":
        found = [(0, text.index(" ")), (text.index(" ") + 1, len(text))]
    assert len(found) == 2
    assert len(leaning(text, found)) == many


def test_the_table_of_words_is_what_it_says():
    """If this fails, an entry of the table can never match: several words, capitals, or none that tell the language."""
    data = json.loads(files("promptpack.packing").joinpath("spans_openers.json").read_text(encoding="utf-8"))
    for name, one in data.items():
        if name == "about":
            continue
        assert set(one) in ({"common", "openers"}, {"starts"})
        for words_ in one.values():
            assert words_ == words_.lower() == " ".join(dict.fromkeys(words_.split()))
    assert {"it", "однако", "он", "sie", "ausserdem"} <= openers().all


def test_context_is_linear_in_the_length_of_the_text():
    """If this fails, each unit of a long text is looked at once for every other one."""
    text = f"# One\n\n{OPEN} {LEANS}\n\n" * 400
    found = context(text, units(text), {})
    assert len(found.leads) == 400
    assert all(len(own) <= 2 for own in found.leads.values())


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (0.5, 1), ("x", 1), (3, 2), (0, 10_000), (None, None)])
def test_offsets_that_are_none_are_refused(start, end):
    """If this fails, a wrong offset gets a place in the source, or a bare TypeError."""
    one = PromptBuilder(500).add_sources([Source("a", "A short text.")]).render().sources[0]
    with pytest.raises(OptionError, match="in_source: expected offsets from 0 to 13"):
        one.in_source(start, end)
