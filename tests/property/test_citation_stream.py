"""Properties of streaming: whatever the text and however it is cut, the stream says what the whole answer says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.citations import CitationStream, code, fence, stream, verify_citations
from promptpack.citations.link import Linker, link_citations

SIGNS = [
    "S1", "[", "]", "(", ")", "[S1]", "[S2]", "(S3)", "s1", ", ", "-", "【", "】", "［", "］", " ", "`", "``", "```",
    "\n", "\n\n", "~~~", '<a b="', "<a ", '"', "'", "=", ">", "<code>", "</code>", "<pre>", "</pre>", "http://",
    "a.b", "www.",
    "https:", "<http://a", "\\", "†", "\ue200cite", "\ue202", "\ue201", "source_1", "source_", ".", "1", "[S1](",
    "](", "x", "<", "/", "- ", "> ", "1. ", "¹", "⁻", "²",
    "<!--", "-->", "<!", "--", "(see ", "\u200b", "and ", "see", "\t", "😀", "\x00", "\x01", "\x02",
]
texts = st.lists(st.sampled_from(SIGNS), max_size=25).map("".join)


def streamed(answer, cuts, **options):
    """Return the citations of the events; the pieces are cut from UTF-16 units, so pairs may be cut, too."""
    units = answer.encode("utf-16-le", "surrogatepass")
    places = sorted({2 * (cut % (len(units) // 2 + 1)) for cut in cuts})
    spans = zip([0, *places], [*places, len(units)], strict=True)
    pieces = [units[start:end].decode("utf-16-le", "surrogatepass") for start, end in spans]
    one = CitationStream({"S1": "a"}, **options)
    found = list(one.over(pieces))
    assert "".join(event.text for event in found) == answer
    return found, one.close()


@given(texts, st.lists(st.integers(0, 200), max_size=6), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_stream_says_what_the_whole_answer_says(answer, cuts, superscripts):
    """If it fails, a citation is shown that is none, or the other way round, or its place is wrong."""
    whole = verify_citations(answer, {"S1": "a"}, superscripts=superscripts)
    for places in (cuts, range(2 * len(answer))):
        found, result = streamed(answer, places, superscripts=superscripts)
        assert [one for event in found for one in event.citations] == list(whole.citations)
        assert result == whole


@given(texts)
@settings(max_examples=150, deadline=None)
def test_the_bounds_of_code_hold_in_a_stream_as_in_the_whole(answer):
    """If it fails, code of just the longest allowed length is read in two ways. The bounds are made small here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "REACH", 15)
        patch.setattr(fence, "LINE", 12)
        patch.setattr(stream, "_QUIET", 20)
        whole = verify_citations(answer, {"S1": "a"})
        found, _ = streamed(answer, range(2 * len(answer)))
    assert [one for event in found for one in event.citations] == list(whole.citations)


@given(texts, st.lists(st.integers(0, 200), max_size=4), st.sampled_from(["markdown", "footnotes"]))
@settings(max_examples=150, deadline=None)
def test_links_of_a_stream_are_those_of_the_whole(answer, cuts, style):
    """If it fails, the command writes another text for a stream than for a file."""
    urls = {"S1": "https://a.example/1", "S3": "https://a.example/3"}
    found, _ = streamed(answer, cuts)
    pieces = "".join(Linker(urls, {}, style).stream(found))
    assert pieces == link_citations(answer, urls, style=style)


@pytest.mark.parametrize(
    "unit", ["word [S1]. ", "[", "[S1", "`", "` [S1] ", "<a b='", "http://(", "(S1,", "```\n", "~~~ a"]
)
def test_the_work_of_a_stream_grows_with_its_length(unit):
    """If it fails, a long answer in small pieces takes quadratic time: characters read are counted, not seconds."""
    def read(length):
        seen = 0

        def counting(text, *args):
            nonlocal seen
            seen += len(text)
            return plain(text, *args)

        plain = code.blanked_so_far
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stream, "blanked_so_far", counting)
            one = CitationStream({"S1": "a"})
            text = unit * (length // len(unit))
            for at in range(0, len(text), 5):
                one.feed(text[at:at + 5])
            one.close()
        return seen

    assert read(24_000) < 3 * read(12_000) + 1


@given(
    st.sampled_from(["[S", "[ S ", "[[S", "【S", "[S\u00a0-  ", "(S", "[source "]), st.integers(380, 420),
    st.sampled_from(["]", "]]", "x]", " ", "[S1]", "", "】"]), st.lists(st.integers(0, 900), max_size=6),
)
@settings(max_examples=200, deadline=None)
def test_a_label_of_too_many_digits_is_the_same_in_a_stream(begin, many, end, cuts):
    """If it fails, a stream settles a text too early to see that a label is malformed, or reads it in two ways."""
    answer = f"Fine [S1]. {begin}{'9' * many}{end}"
    whole = verify_citations(answer, {"S1": "a"})
    for places in (cuts, range(2 * len(answer))):
        assert streamed(answer, places)[1] == whole
