"""Every spelling of a citation is read with its span, nothing else is, and what is malformed is reported."""

from __future__ import annotations

import pytest

from promptpack.citations import parse_citations, read_marks
from promptpack.errors import OptionError

SPELLINGS = [
    ("[S1]", ["S1"], "bracket"),
    ("[S1, S2]", ["S1", "S2"], "bracket"),
    ("[S1; S3]", ["S1", "S3"], "bracket"),
    ("[S1,S2,S3]", ["S1", "S2", "S3"], "bracket"),
    ("[S1 S2]", ["S1", "S2"], "bracket"),
    ("[S1 and S2]", ["S1", "S2"], "bracket"),
    ("[S1 & S2]", ["S1", "S2"], "bracket"),
    ("[S1/S2]", ["S1", "S2"], "bracket"),
    ("[S1, 3]", ["S1", "S3"], "bracket"),
    ("[S1-S3]", ["S1", "S2", "S3"], "bracket"),
    ("[S1–S3]", ["S1", "S2", "S3"], "bracket"),
    ("[S2-3]", ["S2", "S3"], "bracket"),
    ("[S1-S2, S4]", ["S1", "S2", "S4"], "bracket"),
    ("[s3]", ["S3"], "bracket"),
    ("[ S2 ]", ["S2"], "bracket"),
    ("[S 2]", ["S2"], "bracket"),
    ("[S1,\nS2]", ["S1", "S2"], "bracket"),
    ("[^S1]", ["S1"], "bracket"),
    ("[**S1**]", ["S1"], "bracket"),
    ("[S0]", ["S0"], "bracket"),
    ("[S9999]", ["S9999"], "bracket"),
    ("[S1,]", ["S1"], "bracket"),
    ("[source_2]", ["S2"], "bracket"),
    ("[Source 2]", ["S2"], "bracket"),
    ("[S1†L3-L7]", ["S1"], "bracket"),
    (r"\[S1\]", ["S1"], "bracket"),
    ("[[S1]]", ["S1"], "double"),
    ("[[S1, S2]]", ["S1", "S2"], "double"),
    ("(S1)", ["S1"], "paren"),
    ("(S1, S2)", ["S1", "S2"], "paren"),
    ("(S1-S3)", ["S1", "S2", "S3"], "paren"),
    ("【S1】", ["S1"], "wide"),
    ("［S1，S2］", ["S1", "S2"], "wide"),
    ("〔S1、S2〕", ["S1", "S2"], "wide"),
    ("（S1）", ["S1"], "wide"),
    ("【S1†source】", ["S1"], "wide"),
    ("【S1†a, b】", ["S1"], "wide"),
    ("【S1†L1, S2】", ["S1", "S2"], "wide"),
    ("[S1](https://example.com/made-up)", ["S1"], "link"),
    ("[S1](notes/a_(b).md \"title\")", ["S1"], "link"),
    ("[[S1]](http://a.example)", ["S1"], "link"),
    ("source_1", ["S1"], "name"),
    ("\ue200cite\ue202S1\ue201", ["S1"], "marker"),
    ("\ue200cite\ue202S1\ue202S3\ue201", ["S1", "S3"], "marker"),
    ("\ue200cite\ue202S1\ue202L8-L13\ue201", ["S1"], "marker"),
]


@pytest.mark.parametrize(("mark", "labels", "form"), SPELLINGS)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("It is so ", ". Then"), ("それは", "です。"), ("so", "\n")]
)
def test_each_spelling_is_read_with_its_span(mark, labels, form, before, after):
    """If it fails, a spelling that models use is lost, or a link would be put in the wrong place."""
    if form == "name" and before == "so":
        before = "so "
    marks = read_marks(before + mark + after)
    assert [one.label for one in marks.citations] == labels
    for one in marks.citations:
        assert (one.start, one.end, one.text) == (len(before), len(before) + len(mark), mark)
        assert one.form == form
        assert one.start <= one.inner[0] < one.inner[1] <= one.end
    assert marks.malformed == ()


PLAIN = [
    "[1998] 2 HKLRD 771", "it [sic] works", "a[1] and arr[12]", "- [ ] open\n- [x] done", "[1, 2, 3] and [n]",
    "[US1] or [S1a] or [SQL2] or [S1_x]", "[S]he said", "document[s]",
    "an S3 bucket (S3 is cheap)", "(an S3 bucket)", "(Amazon S3)", "(S3, which is cheap, and more)", "(see it)",
    "(see the S3 manual)", "a<!-- [S1] (S2) -->b", "<!--[S1]\nsource_2\n-->", "<!--> x-->", "<style>a[S1]</style>",
    "<script>x[S1]</script>", "source\u200b of 3", "(a\u200b1)",
    "S1", "Section S1", "`get[S1]`", "`` a ` [S1] ``", "```python\nrow[S1]\n```", "~~~\n[S1]\n~~~\n",
    "- list\n  ```\n  [S1]\n  ```", "> ```\n> [S1]\n> ```", "```\n[S1] never closed",
    "https://example.com/[S1]/x", "http://example.com/?q=[S1]&r=(S2)", "www.example.com/[S1]",
    "<https://example.com/[S1]>", "[text](docs/[S1].md)", "[text](<a [S1] b>)", "[text](a.md \"see [S1]\")",
    '<a title="[S1]" href="x">text</a>', "<a title='a > b [S1]'>t</a>", "<img alt=[S1] src=x>",
    "<code>row[S1]</code>", "<PRE>[S1]</PRE>", "[Galaxy S10 manual](https://example.com)", "source_1.txt",
    "<source_1 id=\"x\">", "my_source_1", "source_12345", "\ue200 \ue201", "x² + y³", "[]", "[[]]", "()",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_writing_and_code_cite_nothing(text):
    """If it fails, code, addresses or prose are taken for citations."""
    marks = read_marks(text)
    assert marks.citations == ()
    assert marks.malformed == ()


MALFORMED = [
    ("[S1", "[S1", "no closing bracket"),
    ("so [S1, S2 and more", "[S1, S2", "no closing bracket"),
    ("[S1 [S2]]", "[S1", "no closing bracket"),
    ("[S]", "S", "no number"),
    ("[S3-S1]", "S3-S1", "a range that runs backwards"),
    ("[S1-S2000]", "S1-S2000", "a range of more than 1000 labels"),
    ("[S01]", "S01", "a leading zero"),
    ("[S1, S02]", "S02", "a leading zero"),
    ("[S12345]", "S12345", "more than 4 digits"),
    ("[S" + "9" * 300 + "]", "S" + "9" * 300, "more than 4 digits"),
    ("[S\u0662]", "S\u0662", "digits or letters that are not ASCII"),
    ("[S\uff11]", "S\uff11", "digits or letters that are not ASCII"),
    ("[\uff331]", "\uff331", "digits or letters that are not ASCII"),
    ("[S-1]", "S-1", "more than a label"),
    ("[see S1]", "see S1", "more than a label"),
    ("[S1.2]", "S1.2", "more than a label"),
    ("[S1参照]", "S1参照", "more than a label"),
    ("[S1, 1998]", "1998", "not a label"),
    ("[S1, page 4]", "page 4", "not a label"),
    ("It is so (see S1).", "see S1", "more than a label"),
    ("（See also S1, S2）", "See also S1, S2", "more than a label"),
    ("(source: S4)", "source: S4", "more than a label"),
    ("so (S1", "(S1", "no closing bracket"),
    ("so (S1, S2. Then", "(S1, S2", "no closing bracket"),
    ("so (S1\nThen", "(S1", "no closing bracket"),
    ("so (S1] then", "(S1]", "closed by another kind of bracket"),
    ("[S\u200b1]", "S\u200b1", "invisible characters in a label"),
    ("[S1\u2060]", "S1\u2060", "invisible characters in a label"),
    ("[S2, S\ufeff1]", "S\ufeff1", "invisible characters in a label"),
    ("【\u00adS1】", "\u00adS1", "invisible characters in a label"),
    ("(S\u200b1)", "(S\u200b1", "invisible characters in a label"),
    ("(S1\u200d)", "(S1\u200d", "invisible characters in a label"),
    ("[S\u200b1 and so", "[S\u200b1", "invisible characters in a label"),
    ("so source_\u200b1 says", "source_\u200b1", "invisible characters in a label"),
    ("[S\u200b]", "S\u200b", "no number"),
    ("[S1】", "[S1】", "closed by another kind of bracket"),
    ("\ue200cite\ue202S1", "\ue200cite\ue202S1", "no closing sign"),
    ("\ue200cite\ue202turn0file1\ue201", "turn0file1", "not a label"),
    ("\ue200cite\ue201", "\ue200cite\ue201", "no label"),
]


@pytest.mark.parametrize(("text", "part", "why"), MALFORMED)
def test_malformed_marks_are_reported_with_their_place(text, part, why):
    """If it fails, a mark that cannot be read is lost in silence, or guessed at."""
    found = read_marks(text).malformed
    assert [(one.text, one.why) for one in found][:1] == [(part, why)]
    assert text[found[0].start:found[0].end] == part


def test_good_labels_beside_a_malformed_one_count():
    """If it fails, one slip in a group hides the labels that can be read."""
    marks = read_marks("[S3-S1, S2]")
    assert [one.label for one in marks.citations] == ["S2"]
    assert [one.text for one in marks.malformed] == ["S3-S1"]


def test_a_link_target_that_is_a_label_stays_a_citation():
    """If it fails, `[S1](S2)` loses one of its two labels."""
    assert [one.label for one in parse_citations("[S1](S2) and [the rule](S3)")] == ["S1", "S2", "S3"]


def test_round_brackets_inside_square_ones_are_read():
    """If it fails, `[as said (S1)]` loses its citation."""
    assert [one.label for one in parse_citations("[as said (S1)] [S2 (p. 3)]")] == ["S1", "S2"]


@pytest.mark.parametrize("text", [
    "`unclosed [S1]", "`a\n\nb` [S1]", r"\`x[S1]\`", "a < b [S1] and c > d", "(https://example.com/b)[S1]",
    "https://example.com/c. [S1]", "https://example.com/c.[S1]", "https://example.com/（[S1]）",
    "[text](https://example.com)[S1]", "``` `not a fence` [S1]", "<b>[S1]</b>", '<a x="unclosed [S1]',
    "<a href=x>[S1]</a>", "<!-- open [S1]", "<!-- a -->[S1]<!-- b -->", "<! [S1] -->",
    "```\ncode\n```\n[S1]", "```` \n```\n````\n[S1]", "<code>open [S1]",
])
def test_text_beside_code_and_addresses_still_cites(text):
    """If it fails, something that only looks like code or an address swallows a citation."""
    assert [one.label for one in parse_citations(text)] == ["S1"]


def test_options_zero_padding_superscripts_prefix_and_labels():
    """If it fails, an option is not passed on."""
    assert [one.label for one in parse_citations("[S01] [S00]", zero_padded=True)] == ["S1", "S0"]
    found = parse_citations("so¹ and²³ or¹⁻³", superscripts=True)
    assert [one.label for one in found] == ["S1", "S23", "S1", "S2", "S3"]
    assert {one.form for one in found} == {"superscript"}
    found = parse_citations("[Doc1] [doc2, DOC3] [S1] source_4", prefix="Doc")
    assert [one.label for one in found] == ["Doc1", "Doc2", "Doc3", "Doc4"]
    found = parse_citations("[S1] [S2]", {"S1": ["a", "b"], "S3": "c"})
    assert [one.chunk_ids for one in found] == [("a", "b"), ()]


def test_look_alikes_of_ascii_letters_are_no_prefix():
    """If it fails, case folding lets the long s (U+017F) or the Kelvin sign pass for S or K."""
    assert parse_citations("[\u017f1]") == ()
    assert parse_citations("[\u212a1]", prefix="K") == ()


def test_ranges_of_one_answer_are_bounded():
    """If it fails, a short hostile answer makes unbounded work: 30,000 ranges of a thousand labels."""
    marks = read_marks("[S1-S1000]" * 3_000)
    assert len(marks.citations) == 10_000
    assert len(marks.malformed) == 2_990


@pytest.mark.parametrize("answer", [None, 3, b"[S1]", ["[S1]"]])
def test_an_answer_that_is_no_text_is_named(answer):
    """If it fails, a wrong type ends in a TypeError of a pattern."""
    with pytest.raises(OptionError, match="answer: expected a text"):
        read_marks(answer)


@pytest.mark.parametrize("prefix", ["", "S1", "ß", "S-", None, "A" * 13])
def test_a_prefix_that_is_no_word_is_named(prefix):
    """If it fails, a prefix with signs of its own changes the pattern."""
    with pytest.raises(OptionError, match="prefix has 1 to 12 ASCII letters"):
        read_marks("x", prefix=prefix)


@pytest.mark.parametrize("labels", [["S1"], {1: "a"}, {"S1": 3}, {"S1": [3]}])
def test_label_maps_of_a_wrong_shape_are_named(labels):
    """If it fails, a wrong map ends in an AttributeError or is ignored."""
    with pytest.raises(OptionError, match="labels: "):
        read_marks("x", labels)


def test_lone_surrogates_and_nul_are_text():
    """If it fails, an answer with broken characters cannot be checked."""
    assert [one.label for one in parse_citations("\ud800 [S1] \x00 [\x00] [S2]\udfff")] == ["S1", "S2"]
