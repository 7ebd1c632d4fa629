"""Answers with their citations taken out, numbered anew or written as links; offsets lead there and back."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

from promptpack import CitationStream, link_citations
from promptpack.citations import Citation, Rewritten, parse_citations, read_marks, strip, verify_citations
from promptpack.citations.code import REACH
from promptpack.citations.link import Linker
from promptpack.citations.rewrite import units
from promptpack.errors import OptionError

LABELS = {"S1": "a", "S2": ["b", "c"], "S3": "d"}
URLS = {"S1": "https://x.example/1", "b": "https://x.example/2"}


def check(answer, **options):
    return verify_citations(answer, LABELS, carried={"S7": "z"}, **options)


@pytest.mark.parametrize(("answer", "expected"), [
    ("It is free [S9].", "It is free."), ("It is free [S1], [S9].", "It is free [S1]."),
    ("It is free [S9], [S1].", "It is free [S1]."), ("It is free [S8] and [S9], so.", "It is free, so."),
    ("It is free [S1] and [S9].", "It is free [S1]."), ("so [S8][S9] and", "so and"), ("so [S8][S1][S9].", "so [S1]."),
    ("[S9] It is free.", "It is free."), ("- [S9] Item\n- x [S1]", "- Item\n- x [S1]"), ("(see [S9])", ""),
    ("It is so ([S9]; [S8]).", "It is so."), ("days[S9]and", "days and"),
    ("x [S9, 2]", "x [S2]"), ("x [S9, 2-3]", "x [S2, S3]"), ("三日【S9】。次", "三日。次"), ("三【S9】日", "三日"),
    ("x [S1, S9, S3]", "x [S1, S3]"), ("x [S9; S1]", "x [S1]"), ("x [S1; S9]", "x [S1]"),
    ("x [S1-S5]", "x [S1, S2, S3]"),
    ("x [S8-S9, S1]", "x [S1]"), ("x [S9, page 4]", "x [page 4]"), ("x [S9 (S1)]", "x [S1]"), ("x [S1 (S9)]", "x [S1]"),
    ("x [S9](http://a.b) y", "x y"), ("x \ue200cite\ue202S9\ue202S1\ue201", "x \ue200cite\ue202S1\ue201"),
    ("x \ue200cite\ue202S9\ue201.", "x."), (r"x \[S9\].", "x."), ("“[S9] x”", "“x”"), ("a\n\n[S9]\n\nb", "a\n\n\n\nb"),
    ("It is free [S7].", "It is free."), ("`[S9]` [S1]", "`[S9]` [S1]"), ("[S9", "[S9"), ("", ""), ("[S9]", ""),
    ("**It is free [S9]** so", "**It is free** so"), ("*It is [S9]*, so", "*It is*, so"), ("x **[S9]** y", "x y"),
    ("**[S9] It is**", "**It is**"), ("x [S9] **so**", "x **so**"), ("x [S9]**so**", "x **so**"),
    ("*[S9]* [S1]", "[S1]"), ("source_2 [S9].[S9]It", "source_2 .It"), ("source_2 [S9] and [S9](", "source_2 ("),
    ("so.[S9] source_2 says", "so. source_2 says"),
    ("x source_2 [S9][S1]", "x source_2 [S1]"), ("x source_2 [S9] [S1].", "x source_2 [S1]."),
    ("It is free (see [S9]).", "It is free."), ("It is free (see also: [S8], [S9]) now.", "It is free now."),
    ("It is free (cf. [S9]; it is so).", "It is free (cf.; it is so)."), ("It is free; see [S9].", "It is free."),
    ("It is free. See [S9]. Then", "It is free. Then"), ("It is free.\nSource: [S9]", "It is free.\n"),
    ("It is free. (Source: [S9])", "It is free."), ("It is free（参见【S9】）。", "It is free。"),
    ("It is free (see [S1, S9]).", "It is free (see [S1])."), ("I see [S9].", "I see."), ("Oversee [S9].", "Oversee."),
    ("- [S9]", ""), ("- a [S1]\n- [S9]\n- b", "- a [S1]\n- b"), ("- a\n- [S9].\n", "- a\n"), ("x\n\n1. [S9]", "x\n"),
    ("- [ ] [S9]\n\nx", "\nx"), ("- see [S9]\n- b", "- b"), ("- [S9]\n  goes on", "-\n  goes on"),
    ("- **[S9]**\n- b", "- b"),
    ("- [S9]\n- [S8]\n- b", "- b"), ("x - [S9]", "x -"), ("[S9]          [S8].", "."), ("a [S9]          [S8].", "a."),
    # What a mark holds apart stays apart.
    ("[S1]([S1, S9])", "[S1]([S1 ])"), ("[x]([S9] [S1])", "[x]([……] [S1])"), ("[S9]```\n[S1]", "[……]```\n[S1]"),
    ("``[S9]` [S9]`", "`` ` [S9]`"), ("[S9 [S8]]", "[S9 [……]]"), ("http://a (S9)[S1]", "http://a [S1]"),
    ("```\ue200cite\ue202S9\ue202S1\ue201`[S9]``", "```\ue200cite\ue202S1\ue201` ``"),
    ("source_2 [S9].", "source_2."), ("source_2 [S9].It", "source_2 .It"),
])
def test_unknown_and_stale_labels_go_without_hurting_the_sentence(answer, expected):
    """If it fails, a stripped answer has holes, or loses a good label or a word."""
    text = check(answer).strip()
    assert text == expected
    again = check(str(text))
    assert not again.unknown
    assert not again.stale


def test_what_goes_is_told_by_its_length_where_nothing_else_helps():
    """If it fails, a code span that was too long to be one becomes one, and hides the marks in it."""
    answer = "`" + "x " * 996 + "[S9] [S1]" + "`"
    assert len(answer) > REACH
    assert check(answer).known == ("S1",)
    text = check(answer).strip()
    assert text == answer.replace("[S9]", "[……]")
    assert check(text).known == ("S1",)


def test_superscripts_are_stripped_as_such():
    """If it fails, a range of superscripts turns into plain words, and its good labels are lost."""
    def strip(answer):
        return verify_citations(answer, {"S1": "a", "S2": "b", "S4": "d"}, superscripts=True).strip()

    assert strip("x¹⁻³ z⁹.") == "x¹⁻² z."
    assert strip("x²⁻⁴ z") == "x² ⁴ z"
    assert verify_citations("x [S01, S09]", {"S1": "a"}, zero_padded=True).strip() == "x [S01]"


def test_stripping_is_linear():
    """If it fails, an answer that has to be read again and again stops a service: readings are counted."""
    def readings(answer):
        seen = 0

        def counting(text, **options):
            nonlocal seen
            seen += 1
            return read_marks(text, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(strip, "read_marks", counting)
            verify_citations(answer, LABELS).strip()
        return seen

    assert readings("It is free [S1, S9].") == 1
    assert readings("It is free [S1].") == 0
    for unit in ("[S1]([S1, S9]) ", "[x]([S9] [S1]) ", "[S9]```\n[S1]\n", "[S9 [S8]] "):
        assert readings(unit * 200) <= strip.ROUNDS


def test_stale_labels_stay_where_asked_for():
    """If it fails, a conversation cannot keep pointing at an earlier turn."""
    assert check("x [S7], [S9].").strip(stale=False) == "x [S7]."


@pytest.mark.parametrize(("answer", "expected", "labels"), [
    ("x [S3] y [S1, S3].", "x [S1] y [S2, S1].", {"S1": ("d",), "S2": ("a",)}),
    ("x [S2-S3]", "x [S1, S2]", {"S1": ("b", "c"), "S2": ("d",)}),
    ("[S3] [S1-S3]", "[S1] [S2, S3, S1]", {"S1": ("d",), "S2": ("a",), "S3": ("b", "c")}),
    ("source_3 [s2†L3] 【S3†x】", "source_1 [s2†L3] 【S1†x】", {"S1": ("d",), "S2": ("b", "c")}),
    ("\ue200cite\ue202S3\ue202S1\ue201", "\ue200cite\ue202S1\ue202S2\ue201", {"S1": ("d",), "S2": ("a",)}),
    ("x [S9] [S7] [S3]", "x [S3] [S2] [S1]", {"S1": ("d",)}),
    ("[x]([S1 - S3])", "[x]([S1 - S3])", {"S1": ("a",), "S2": ("b", "c"), "S3": ("d",)}),
    ("[S3] [x]([S1 - S3])", "[S1] [x]([S2, S3, S1])", {"S1": ("d",), "S2": ("a",), "S3": ("b", "c")}),
    ("[S9] [x]([S1 - S3])", "[S4] [x]([S1 - S3])", {"S1": ("a",), "S2": ("b", "c"), "S3": ("d",)}),
    ("[S3, 2]", "[S1, 2]", {"S1": ("d",), "S2": ("b", "c")}), ("no mark", "no mark", {}),
    ("[S3](x) (S1)", "[S1](x) (S2)", {"S1": ("d",), "S2": ("a",)}),
])
def test_labels_are_numbered_by_first_use(answer, expected, labels):
    """If it fails, a renumbered answer points at the wrong sources."""
    text = check(answer).renumber()
    assert (text, text.labels) == (expected, labels)


def test_an_unknown_label_never_takes_the_name_of_a_source():
    """If it fails, renumbering makes a good citation of a bad one."""
    text = check("x [S3] [S9]").renumber()
    assert verify_citations(text, text.labels).unknown == ("S2",)


def test_superscripts_are_renumbered_as_such():
    """If it fails, the spelling of a mark changes with its number."""
    assert verify_citations("x³ y¹", LABELS, superscripts=True).renumber() == "x¹ y²"


@pytest.mark.parametrize(("answer", "expected"), [
    ("x [S1].", "x [S1](https://x.example/1)."), ("x [S2].", "x [S2](https://x.example/2)."),
    ("x [S1, S3, S9].", "x [S1](https://x.example/1), [S3], [S9]."), ("x [S3].", "x [S3]."),
    ("x [S1](http://made.up).", "x [S1](https://x.example/1)."), ("x source_1.", "x [source_1](https://x.example/1)."),
    ("x [S1-S2]", "x [S1](https://x.example/1), [S2](https://x.example/2)"), ("x 【S1】。", "x [S1](https://x.example/1)。"),
    ("[S1, page 4]", "[S1](https://x.example/1), [page 4]"), ("`[S1]`", "`[S1]`"),
])
def test_marks_become_links(answer, expected):
    """If it fails, a link is lost, or leads to an address that the model made up."""
    assert check(answer).link(URLS) == expected
    assert link_citations(answer, URLS, LABELS) == expected
    assert [one.label for one in parse_citations(expected)] == [one.label for one in parse_citations(answer)]


def test_footnotes_stand_at_the_end_once_each():
    """If it fails, a footnote has no text, or several."""
    text = check("x [S1] y [S1, S3] source_2.\n").link(URLS, style="footnotes")
    assert text == (
        "x [^S1] y [^S1][S3] source_2[^S2].\n\n[^S1]: https://x.example/1\n[^S2]: https://x.example/2"
    )
    assert check("x [S3].").link(URLS, style="footnotes") == "x [S3]."


@pytest.mark.parametrize(("answer", "expected"), [
    ("[S1]([S1, S9])", "[^S1] ([^S1][S9])"), ("[S9]([S1, S2])", "[S9] ([^S1][^S2])"), ("[S1](see x)", "[^S1] (see x)"),
    ("source_1 ([S1])", "source_1[^S1] ([^S1])"), ("source_1(see x) [S1]", "source_1(see x) [^S1]"),
    ("- [S1]: x", "- [^S1] : x"), ("[S1]: x", "[^S1] : x"), ("So [S1]: x", "So [^S1]: x"),
    ("x\n[S1]: y", "x\n[^S1] : y"),
    ("[S1] (x)", "[^S1] (x)"), ("[S1][S2]: x", "[^S1][^S2]: x"), ("[S1](http://made.up)", "[^S1]"),
])
def test_footnotes_make_no_link_and_no_definition_of_what_stands_behind_them(answer, expected):
    """If it fails, Markdown reads `[^S1](x)` as a link, or `[^S1]: x` as the text of a footnote."""
    urls = {"S1": "https://x.example/1", "S2": "https://x.example/2"}
    text = link_citations(answer, urls, style="footnotes")
    assert text.partition("\n\n[^S")[0] == expected
    events = CitationStream({"S1": "a", "S2": "b"}).over(answer)
    assert "".join(Linker(urls, {}, "footnotes").stream(events)) == text
    assert link_citations(answer, {}, style="footnotes") == answer


def test_a_footnote_of_a_native_citation_makes_no_link_either():
    native = Citation("S1", 0, 5, "It is", "native", (0, 5), ("a",))
    found = replace(check("It is(free)."), citations=(native,), known=("S1",))
    assert found.link(URLS, style="footnotes").startswith("It is [^S1] (free).")


def test_citations_beside_the_text_become_links_behind_it_and_are_no_marks():
    """If it fails, native citations delete or replace the words that they back."""
    native = Citation("S1", 0, 5, "It is", "native", (0, 5), ("a",))
    found = check("It is free.")
    found = replace(found, citations=(native,), known=("S1",))
    assert found.link(URLS) == "It is [S1](https://x.example/1) free."
    assert found.strip() == "It is free."
    assert units([native]) == []


@pytest.mark.parametrize(("url", "expected"), [
    ("https://a.example/x y", "https://a.example/x%20y"), ("a_(b).md", "a_%28b%29.md"), ("<x>", "%3Cx%3E"),
    ("a\n\n# Title", "a%0A%0A#%20Title"), ("https://a.example/ä?q=1#s", "https://a.example/ä?q=1#s"),
])
def test_addresses_cannot_end_their_link(url, expected):
    """If it fails, an address from the metadata of a source writes Markdown of its own."""
    assert link_citations("[S1]", {"S1": url}) == f"[S1]({expected})"


@pytest.mark.parametrize("url", [
    "javascript:alert(1)", " JavaScript:alert(1)", "java\nscript:x", "data:text/html,x", "vbscript:x", None, 3,
])
def test_addresses_that_run_code_and_those_that_are_none_are_refused(url):
    """If it fails, a hostile source puts a script behind a citation."""
    with pytest.raises(OptionError, match="urls: 'S1'"):
        link_citations("[S1]", {"S1": url})


def test_wrong_options_are_named():
    """If it fails, a wrong style or mapping ends in an AttributeError."""
    with pytest.raises(OptionError, match="did you mean 'markdown'"):
        link_citations("[S1]", {}, style="markdwn")
    with pytest.raises(OptionError, match="urls: expected a mapping"):
        link_citations("[S1]", ["x"])


def test_offsets_lead_there_and_back():
    """If it fails, marks in a user interface are off after a change."""
    answer = "It is free [S9]. It is so [S1, S9]. And [S1] more."
    text = check(answer).strip()
    assert text == "It is free. It is so [S1]. And [S1] more."
    for word in ("free", "so", "And", "more"):
        assert text.after(answer.index(word)) == text.index(word)
        assert text.before(text.index(word)) == answer.index(word)
    assert text.after(0) == text.before(0) == 0
    assert text.after(len(answer)) == len(text)
    assert text.after(answer.index("S9")) == text.index(". It")
    linked = check(answer).link(URLS)
    assert linked.before(linked.index("more")) == answer.index("more")
    for edit in linked.edits:
        assert parse_citations(answer[edit.start:edit.end])
        assert parse_citations(linked[edit.out_start:edit.out_end])
    with pytest.raises(OptionError, match="offset"):
        text.after(-1)


def test_a_rewritten_answer_is_a_text_that_survives_copies():
    """If it fails, a result cannot be sent to another process."""
    text = check("x [S9] [S1]").strip()
    for again in (pickle.loads(pickle.dumps(text)), copy.copy(text), copy.deepcopy(text)):
        assert isinstance(again, Rewritten)
        assert (again, again.edits, again.labels) == (text, text.edits, text.labels)
    assert type(text.upper()) is str


@pytest.mark.parametrize("name", ["edits", "labels"])
def test_what_a_rewritten_answer_knows_is_made_with_it(name):
    """If it fails, a label map can be put on a text that it does not belong to, after the text was handed out."""
    text = check("x [S9] [S1]").strip()
    assert text.labels == {"S1": ("a",)}
    with pytest.raises(AttributeError):
        setattr(text, name, {})


def test_sources_are_listed_by_first_use():
    """If it fails, the list below an answer has other numbers than the answer."""
    found = check("x [S3] y [S1, S3] z [S9]")
    listed = [(one.number, one.label, one.chunk_ids, one.spans) for one in found.sources()]
    assert listed == [(1, "S3", ("d",), ((2, 6), (9, 17))), (2, "S1", ("a",), ((9, 17),))]
    assert list(found.renumber().labels) == ["S1", "S2"]
