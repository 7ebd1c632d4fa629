"""The page and the notebook form: whole, the same each time, and never taken in by a text."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from injection_build import Case, request
from vector_files import read

from promptpack import Payload, PromptBuilder, Source, Window
from promptpack.view.compact import COLOURS, compact
from promptpack.view.html import page
from promptpack.view.runs import literal

VOID = {"meta", "br"}
RAW = ("style", "script")
# What the templates write, and nothing else: element -> attributes.
WRITTEN: dict[str, set[str]] = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"}, "title": set(),
    "style": set(), "script": set(), "body": set(), "header": {"class"}, "main": {"id", "class"}, "footer": {"class"},
    "nav": {"aria-label"}, "section": {"aria-labelledby"}, "h1": set(), "h2": {"id"}, "h3": set(),
    "p": {"class", "dir", "id"}, "strong": set(), "a": {"class", "href", "id", "title"}, "ul": set(),
    "ol": {"class", "id"}, "li": set(), "svg": {
        "class", "role", "aria-label", "x", "y", "width", "height", "viewbox", "preserveaspectratio", "aria-hidden",
    },
    "rect": {"class", "width", "height"}, "text": {"class", "x", "y", "dx", "dy", "text-anchor"},
    "line": {"class", "x1", "x2", "y1", "y2"}, "polyline": {"points", "class"}, "circle": {"cx", "cy", "r"},
    "div": {"class", "dir", "role", "tabindex", "aria-label"},
    "table": set(), "caption": {"class"}, "thead": set(), "tbody": set(), "tr": set(),
    "th": {"scope", "class"}, "td": {"class"}, "span": {"class", "title", "id", "dir"}, "bdi": set(), "br": set(),
    "button": {"type", "hidden", "aria-pressed", "data-list"}, "details": {"id", "open"}, "summary": set(),
    "dl": set(), "dt": set(), "dd": {"dir"}, "mark": {"class", "title"}, "del": set(),
}
OURS = re.compile(r"[a-z]+(?:-[a-z0-9]+)*(?: [a-z]+(?:-[a-z]+)*)*\Z")  # every class and id

HOSTILE = (
    "<script>pwned()</script>", "<img src=x onerror=pwned()>", '"><svg onload=pwned()>', "' onmouseover='pwned()",
    "</div></details></main><h1>Official</h1>", "</title></style></script><script>pwned()</script>", "<!-- ", "-->",
    "<![CDATA[ ]]>", "{{ 7 * 7 }}{% for x in y %}", "&lt;b&gt; &amp; &#60;i&#62; &nbsp", "<plaintext>",
    "<base href=//x>",
    "</textarea><iframe srcdoc='<script>pwned()</script>'>", "javascript:pwned()", "<a href=javascript:pwned()>x</a>",
    "<link rel=stylesheet href=//x><meta http-equiv=refresh content='0;url=//x'>", "</script", "<\x00script>",
    "a\u2028b",
    "<style>*{display:none}</style>", "]]>&", "\ufeff<b>", "<mark class=label>S1</mark>", "＜script＞",
)


class Read(HTMLParser):
    """Reads a page: its elements, and the text inside of those of a class."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[tuple[str, dict[str, str | None]]] = []
        self.faults: list[str] = []
        self.texts: list[str] = []   # of every <div class="text ...">
        self.raw: dict[str, list[str]] = {name: [] for name in RAW}
        self.data = ""
        self.inner: list[tuple[str, str | None, str]] = []  # of every <mark> and <del>
        self.open: list[int] = []
        self.feed(text)
        self.close()
        if self.stack:
            self.faults.append(f"left open: {[tag for tag, _ in self.stack]}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if len(dict(attrs)) != len(attrs):
            self.faults.append(f"an attribute twice: {tag} {attrs}")
        if tag not in VOID:
            self.stack.append(self.elements[-1])
        if tag in ("mark", "del"):
            self.open.append(len(self.inner))
            self.inner.append((tag, dict(attrs).get("class"), ""))
        if tag == "div" and "text" in (dict(attrs).get("class") or "").split():
            self.texts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("mark", "del"):
            self.open.pop()
        if not self.stack or self.stack.pop()[0] != tag:
            self.faults.append(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        self.data += data
        if self.stack and self.stack[-1][0] in RAW:
            self.raw[self.stack[-1][0]].append(data)
        if any(tag == "div" and "text" in (attrs.get("class") or "") for tag, attrs in self.stack):
            odd = any(attrs.get("class") == "odd" for _, attrs in self.stack)
            self.texts[-1] += f"[{data}]" if odd else data
            for at in self.open:
                tag, class_, before = self.inner[at]
                self.inner[at] = (tag, class_, before + (f"[{data}]" if odd else data))

    def marked(self, tag: str, class_: str | None = None) -> list[str]:
        """Return the texts of the elements of a class."""
        return [text for name, of, text in self.inner if name == tag and (class_ is None or of == class_)]

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"a comment: {data[:40]}")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"an instruction: {data[:40]}")

    def unknown_decl(self, data: str) -> None:
        self.faults.append(f"a declaration: {data[:40]}")

    def skeleton(self) -> list[tuple[str, tuple[str, ...], str | None, str | None, str | None]]:
        """Return the elements without those that show how a text reads."""
        return [
            (tag, tuple(attrs), attrs.get("class"), attrs.get("id"), attrs.get("href"))
            for tag, attrs in self.elements if tag != "mark" and attrs.get("class") != "odd"
        ]


def check(text: str) -> Read:
    """Read a page and check that it is made of what the templates write."""
    text.encode("utf-8")
    found = Read(text)
    assert found.faults == []
    for tag, attrs in found.elements:
        assert tag in WRITTEN, tag
        assert set(attrs) <= WRITTEN[tag], (tag, attrs)
        for name in ("id", "class"):
            assert name not in attrs or OURS.match(attrs[name] or ""), (tag, name, attrs[name])
        assert "href" not in attrs or re.match(r"#[a-z]+(-[a-z0-9]+)*\Z", attrs["href"] or ""), attrs
    ids = [attrs["id"] for _, attrs in found.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {(attrs["href"] or "")[1:] for _, attrs in found.elements if "href" in attrs} <= set(ids)
    for name, file in (("style", "page.css"), ("script", "page.js")):
        assert ["".join(found.raw[name])] == [files("promptpack.view").joinpath(file).read_text(encoding="utf-8")]
        assert sum(tag == name for tag, _ in found.elements) == 1
    return found


def everywhere(text: str, *, escape: str = "off") -> Payload:
    """Return a payload with a text in every place that takes one."""
    from promptpack.labels import Labels

    fields = ("chunk", "title", "section", "updated")
    source = Source(
        f"id {text}", f"text {text}", 0.9, document=text, updated=text,
        metadata={"title": f"title {text}", "section": text, f"own {text}": text},
    )
    builder = PromptBuilder(Window(20_000, answer=10), counter="chars", fields=fields, escape=escape)
    builder = builder.with_system(f"system {text}").with_question(f"question {text}").with_labels(Labels("Q"))
    builder = builder.add_history([("user", f"user {text}"), ("assistant", f"assistant {text}")])
    payload = builder.add_sources([source, Source("plain", "Other."), Source(f"empty {text}", " "),
                                   Source(f"again {text}", f"text {text}", 0.1)]).render()
    report = dataclasses.replace(
        payload.report, counter=text, template=text, model=text, notes=(text,), escaped=((text, text, 1),)
    )
    return dataclasses.replace(payload, report=report, tools=({"name": text},))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_part_of_the_page(text: str) -> None:
    """If it fails, a source, a question, an answer or an id can write into the page that shows it."""
    answer = f"Yes {text} [Q1]. No {text} [Q99]."
    read_ = check(everywhere(text).to_html(answer=answer))
    base = check(everywhere("word").to_html(answer="Yes word [Q1]. No word [Q99]."))
    plain = [one for one in read_.skeleton() if "uncited" not in (one[2] or "")]
    # A text may end or begin sentences of the answer, which are marked; nothing else differs.
    without = [one for one in plain if not (one[0] == "li" or (one[2] or "").startswith("cite"))]
    expected = [one for one in base.skeleton() if "uncited" not in (one[2] or "")]
    assert [one for one in without if one[0] not in ("h3", "ul", "bdi")] == [
        one for one in expected if not (one[0] in ("li", "h3", "ul", "bdi") or (one[2] or "").startswith("cite"))
    ]
    assert literal(answer) in read_.texts
    assert literal(f"text {text}") in read_.texts
    assert any(literal(f"assistant {text}") in one for one in read_.texts)
    assert "pwned" not in "".join(read_.raw["script"])


CASES = [one for one in read("injection") if one["where"] != "template"]


@pytest.mark.parametrize("kind", sorted({one["kind"] for one in CASES}))
def test_the_injection_corpus_stays_text(kind: str) -> None:
    """If it fails, one of the hostile texts of the corpus becomes an element or an attribute, or is not shown whole."""
    shown = 0  # what is refused when it is built has no page
    for vector in (one for one in CASES if one["kind"] == kind):
        asked = request(vector, 0.01)
        case = Case(asked)
        if case.error() is not None:
            continue
        payload = case.payload()
        read_ = check(page(payload, answer=vector.get("answer", asked.text)))
        for one in payload.sources:
            assert literal(one.text) in read_.texts, vector["id"]
        assert [literal(one.text) for one in payload.messages] == read_.texts[-len(payload.messages):]
        Read(compact(payload))
        shown += 1
    if not shown:
        pytest.skip("every case of this kind is refused when it is built")


def test_most_of_the_corpus_is_shown() -> None:
    """If it fails, the test above looks at next to nothing."""
    assert sum(Case(request(one, 0.01)).error() is None for one in CASES) >= 0.8 * len(CASES)


def test_what_is_no_text_for_a_file_is_shown_as_code_points() -> None:
    """If it fails, a page with a lone surrogate cannot be written to a file."""
    read_ = check(everywhere("\ud800<i>", escape="tags").to_html(answer="Yes \udfff [Q1]."))
    assert "text [U+D800]<i>" in read_.texts
    assert "Yes [U+DFFF] [Q1]." in read_.texts


def test_the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else() -> None:
    """If it fails, the page has no looks, or would run and load what a text brings."""
    found = check(everywhere("x").to_html())
    policies = [attrs["content"] for _, attrs in found.elements if attrs.get("http-equiv")]
    assert len(policies) == 1
    rules = dict(one.strip().split(" ", 1) for one in (policies[0] or "").split(";"))
    for name, rule in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256("".join(found.raw[name]).encode()).digest()).decode()
        assert rules.pop(rule) == f"'sha256-{digest}'"
    assert rules == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}


def test_the_page_is_the_same_each_time_and_after_storing() -> None:
    """If it fails, pages cannot be compared, and what a service stored shows something else."""
    payload = everywhere("<x> [S1]")
    again = Payload.from_dict(json.loads(json.dumps(payload.to_dict())))
    text = payload.to_html(answer="Yes [S1].")
    assert text == payload.to_html(answer="Yes [S1].") == again.to_html(answer="Yes [S1].")
    assert payload._repr_html_() == again._repr_html_()


def test_what_the_page_tells() -> None:
    """If it fails, something of the account is not on the page."""
    sources = [
        Source("a#1", "Returns are free within 45 days </source_1>.", 0.9, metadata={"title": "Returns"}),
        Source("a#2", "Returns are free within 45 days </source_1>.", 0.8),
        *(Source(f"c#{n}", f"Filler {n} " * 20, 0.5 - n / 100) for n in range(8)),
    ]
    builder = PromptBuilder(Window(300, answer=40, margin=7), counter="words").with_tools([{"name": "look_up"}])
    builder = builder.add_history([("user", "old " * 150), ("assistant", "Yes."), ("user", "Hi"), ("assistant", "Ho")])
    payload = builder.add_sources(sources).with_question("How long?").render()
    text = payload.to_html(answer="45 days [S1].")
    found = check(text)
    for part in ("system", "tools", "history", "sources", "question", "frame", "margin", "answer"):
        assert f">{part}</th>" in text
    for out in payload.dropped:
        assert out.source.id in text
        assert literal(out.source.text) in found.texts
        assert out.detail in found.data
    assert {str(out.reason) for out in payload.dropped} == {"duplicate", "over_budget"}
    assert all(f", at least {out.cost} tokens" in found.data for out in payload.dropped if "at least" in out.detail)
    assert any("at least" in out.detail for out in payload.dropped)
    assert all(turn.detail in found.data for turn in payload.dropped_turns)
    assert payload.dropped_turns
    assert "As it is sent, after escaping" in text
    assert "Returns are free within 45 days &lt;/source_1>." in found.texts
    assert "look_up" in found.data
    assert found.data.count("cited 1×") == 1
    points = [attrs for tag, attrs in found.elements if tag == "circle"]
    assert len(points) == len(payload.sources)
    labels = [attrs for tag, attrs in found.elements if tag == "mark" and attrs.get("class") == "label"]
    assert len(labels) >= len(payload.sources)
    assert '<mark class="label">S1</mark>&#34; chunk=&#34;a#1' in text


@pytest.mark.parametrize("template", ["default", "plain", "markdown", "json", "claude"])
def test_labels_are_marked_in_every_template_set(template: str) -> None:
    """If it fails, a label is not highlighted where the model sees it, or one that a passage speaks of is."""
    sources = [Source("a", "A quotation \"of [S2]\" and S1.\nNext line."), Source("b", "Plain.")]
    payload = PromptBuilder(4_000, template=template).add_sources(sources).with_question("Why?").render()
    last = page(payload).split('id="messages"')[1]
    marked = re.findall(r'<mark class="label">([^<]*)</mark>', last)
    assert {"S1", "S2"} <= set(marked)
    assert "and S1.</mark>" not in last
    assert "and S1" in last


def test_a_long_question_is_shortened_at_the_head_only() -> None:
    """If it fails, a long question pushes everything else off the screen, or a part of it is nowhere."""
    question = "Why? " * 1_000 + "The end."
    found = check(PromptBuilder(9_000).with_question(question).render().to_html())
    assert found.data.count("The end.") == 1
    assert "The beginning of the question" in found.data
    short = check(PromptBuilder(9_000).with_question("Why?").render().to_html())
    assert "The beginning of the question" not in short.data


def test_labels_from_a_file_are_texts_like_others() -> None:
    """If it fails, a stored payload whose labels are no labels breaks the page or the file that it is written to."""
    made = everywhere("x")
    odd = dataclasses.replace(made.sources[0], label='\ud800"><b>', attributes={"na\udfffme<b>": "va\udfffl<b>"})
    made = dataclasses.replace(made, sources=(odd, *made.sources[1:]))
    assert "[U+D800]\"><b>" in check(made.to_html()).data
    made._repr_html_().encode("utf-8")


def test_a_payload_with_nothing_in_it_has_a_page() -> None:
    """If it fails, the page of an empty retrieval cannot be made: just where one looks for the cause."""
    text = check(PromptBuilder(500).render().to_html())
    assert "No source is sent." in text.data
    assert "Every source that came in is sent." in text.data
    empty = PromptBuilder(500).add_sources([" "]).with_question("").render()
    assert "empty" in check(empty.to_html(answer="")).data
    assert "1 not sent" in Read(empty._repr_html_()).data


def test_a_message_with_parts_and_tool_calls_is_shown() -> None:
    """If it fails, the page says that a message is empty which calls a tool or holds an image."""
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "<b>Oslo"}'}}
    history: list[dict[str, Any]] = [
        {"role": "user", "content": [
            {"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
        ]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Rain"},
        {"role": "assistant", "content": "It rains."},
    ]
    payload = PromptBuilder(9_000).add_history(history).add_sources(["A."]).with_question("So?").render()
    found = check(payload.to_html())
    for told in ("weather", "part of type image_url", "answers the call", "Rain", "Oslo"):
        assert told in found.data
    assert not [attrs for _, attrs in found.elements if "src" in attrs]


def test_a_large_payload_takes_linear_room() -> None:
    """If it fails, the page of a full window is too large or too slow to be made."""
    def size(count: int) -> int:
        sources = [Source(f"c{n}", f"Text {n} [S{n % 9}].", 1 / (n + 1)) for n in range(count)]
        return len(PromptBuilder(900_000, counter="words").add_sources(sources).render().to_html())

    few, many = size(200), size(1600)
    assert many < 8.5 * few


def test_the_notebook_form_is_short_and_has_neither_style_nor_script() -> None:
    """If it fails, a notebook shows a wall of text, or its own style changes."""
    sources = [Source(f"c{n}", f"Text {n} <b>.", metadata={"title": "<i>"}) for n in range(60)]
    payload = PromptBuilder(90_000).add_sources([*sources, "Text 1 <b>."]).with_question("<script>x</script>").render()
    text = payload._repr_html_()
    found = Read(text)
    assert found.faults == []
    tags = {tag for tag, _ in found.elements}
    assert tags == {
        "div", "p", "strong", "br", "em", "svg", "rect", "title", "span", "table", "thead", "tbody", "tr", "th", "td",
        "bdi", "code",
    }
    assert not [attrs for _, attrs in found.elements if {"style", "class", "id"} & set(attrs)]
    assert sum(tag == "tr" for tag, _ in found.elements) == 21
    assert "40 more" in found.data
    assert "1 duplicate" in found.data
    assert len(text) < 8_000


LONG = (
    "Our shop was founded in 1987 by two sisters. You can return any lamp within 45 days of delivery [S7]. "
    "Our staff are happy to help. <b>Parking</b> is behind the building & free\u202e."
)


def test_what_was_left_out_of_a_source_is_shown_beside_what_was_sent() -> None:
    """If it fails, the page of a payload of spans does not show which sentences of a source the model sees."""
    builder = PromptBuilder(Window(165, answer=50)).with_packing(select="spans")
    made = builder.add_sources([Source("a", LONG, 0.9)]).with_question("How long can I return a lamp?").render()
    one = made.sources[0]
    assert one.ranges
    assert one.text != LONG
    found = check(page(made))
    start, end = one.ranges[0]
    assert found.texts[0] == LONG.replace("\u202e", "[U+202E]"), "the whole text, in order"
    assert found.marked("mark", "kept") == [LONG[start:end].replace("\u202e", "[U+202E]")]
    assert "".join(found.marked("del")) == (LONG[:start] + LONG[end:]).replace("\u202e", "[U+202E]")
    assert f"characters {start}-{end} of {len(LONG)}" in found.data
    assert f"({start}-{end} of {len(LONG)})" in compact(made)
    again = Payload.from_dict(json.loads(json.dumps(made.to_dict())))
    assert page(again) == page(made), "the stored payload has the text, too"


def test_a_whole_source_is_not_marked() -> None:
    found = check(page(PromptBuilder(2_000).add_sources([Source("a", LONG)]).with_question("Why?").render()))
    assert not [tag for tag, attrs in found.elements if tag == "del" or attrs.get("class") == "kept"]


# Contrast, by the formula of WCAG 2.2 (relative luminance of sRGB).
def luminance(colour: str) -> float:
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


PALETTES = [
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
    for block in re.findall(
        r":root \{(.*?)\}", files("promptpack.view").joinpath("page.css").read_text(encoding="utf-8"), re.DOTALL
    )
]
PARTS = ("system", "tools", "history", "sources", "question", "frame", "other", "answer")


@pytest.mark.parametrize("number", [0, 1], ids=["light", "dark"])
def test_text_has_contrast(number: int) -> None:
    """If it fails, a text is hard to read: 4.5 to 1 for texts, 3 to 1 for what has to be seen (WCAG 2.2, 1.4)."""
    assert len(PALETTES) == 2
    colours = {**PALETTES[0], **PALETTES[number]}
    texts = [
        *((name, ground) for name in ("text", "quiet", "link", "good", "bad", "warn") for ground in ("back", "panel")),
        ("text", "kept"), ("on-label", "label"), ("on-said", "said"), ("on-odd", "odd"), ("on-light", "free"),
        ("on-light", "margin"),
        *(("on-part", part) for part in PARTS),
    ]
    for text, ground in texts:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for shape in ("edge", "middle", *PARTS):
        assert contrast(colours[shape], colours["panel"]) >= 3, shape


def test_the_notebook_bar_is_seen_on_light_and_on_dark() -> None:
    """If it fails, a part of the bar cannot be seen in one of the themes."""
    for name, colour in COLOURS.items():
        for ground in ("#ffffff", "#111111"):
            assert colour == "none" or contrast(colour, ground) >= 3, (name, ground)
