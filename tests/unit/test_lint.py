"""Lint finds what a template set does wrong, names file and line, and leaves the shipped sets alone."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import nodes

from promptpack.environment import _ours
from promptpack.errors import TemplateLookupError, TemplateRenderError
from promptpack.lint import CODES, Finding, lint
from promptpack.settings import TemplateSettings
from promptpack.templates import TemplateSet, root, template_names
from promptpack.views import View

USER = "<sources>\n{{ sources }}\n</sources>\n{% if question %}\n<question>{{ question }}</question>\n{% endif %}"


def found(**parts: str) -> list[str]:
    """The findings as "file:line code"."""
    return [f"{one.file}:{one.line} {one.code}" for one in lint(TemplateSet.from_string(**parts, name="own"))]


@pytest.mark.parametrize("name", template_names())
def test_shipped_sets_are_clean(name: str) -> None:
    """A set that ships with a fault breaks a promise of the payload for everyone who uses it."""
    assert lint(TemplateSet.named(name)) == ()
    assert lint(TemplateSet.from_folder(root() / name)) == ()


# One broken template for each kind of fault: what is written, and the whole list of what is found.
BROKEN: dict[str, tuple[dict[str, str], list[str]]] = {
    "syntax": ({"user": "{{ sources }}\n{% iff %}"}, ["user.j2:2 syntax"]),
    "unclosed expression": ({"user": "{{ sources }}\n\n{{ question"}, ["user.j2:3 syntax"]),
    "no such filter": ({"user": "{{ sources }}\n{{ question|nope }}"}, ["user.j2:2 syntax"]),
    "no such test": ({"user": "{{ sources }}\n{% if question is nope %}{% endif %}"}, ["user.j2:2 error"]),
    "too deep": ({"user": "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}"}, ["user.j2:1 syntax"]),
    "syntax in two files": (
        {"user": "{% iff %}", "source": "\n{{ text }", "system": "{{ example }}\n{{ persona }}"},
        ["source.j2:2 syntax", "system.j2:2 unknown-name", "user.j2:1 syntax"],
    ),
    "unknown names": (
        {"user": "{{ sources }}\n{{ qestion }}\n{{ date }}{{ qestion }}"},
        ["user.j2:2 unknown-name", "user.j2:3 unknown-name"],
    ),
    "a name of another file": ({"source": "[{{ label }}] {{ text }} {{ question }}"}, ["source.j2:1 unknown-name"]),
    "unknown field": ({"source": "[{{ label }}] {{ text }}\n{{ source.titel }}"}, ["source.j2:2 unknown-name"]),
    "safe": ({"source": "[{{ label }}]\n{{ text|safe }}"}, ["source.j2:2 escaping"]),
    "autoescape off": (
        {"source": "[{{ label }}]\n{% autoescape false %}{{ text }}{% endautoescape %}"}, ["source.j2:2 escaping"],
    ),
    "raw": (
        {"user": "{% raw %}{{ sources }}{% endraw %}\n{{ sources }}\n{{ question }}"}, ["user.j2:1 escaping"],
    ),
    "a whole source": ({"source": "[{{ label }}] {{ text }}\n{{ source }}"}, ["source.j2:2 object"]),
    "all attributes": ({"source": "[{{ label }}] {{ text }}\n{{ attributes|string }}"}, ["source.j2:2 object"]),
    "attributes as JSON": ({"source": "[{{ label }}] {{ text }}\n{{ attributes|tojson }}"}, ["source.j2:2 object"]),
    "a view in a loop": (
        {"user": "{% for s in sources %}\n{{ s.label }} {{ s.text }} {{ s }}\n{% endfor %}{{ question }}"},
        ["user.j2:2 object"],
    ),
    "a view as Python writes it": (
        {"user": "{% for s in sources %}\n{{ s.label }} {{ s.text }} {{ s|string }}\n{% endfor %}{{ question }}"},
        ["user.j2:1 object"],
    ),
    "marker": ({"user": USER.replace("</sources>", "</sources>\n<|im_start|>user")}, ["user.j2:4 marker"]),
    "bracketed marker": ({"system": "[INST] Cite like [{{ example }}]. {{ system }}"}, ["system.j2:1 marker"]),
    "a marker in two pieces": (
        {"user": "<|{{ prefix }}|>\n" + USER}, ["user.j2:1 marker"],
    ),
    "no question": ({"user": "{{ sources }}"}, ["user.j2:1 question"]),
    "a cut question": ({"user": "{{ sources }}\n{{ question|truncate(9, True) }}"}, ["user.j2:2 question"]),
    "question first": ({"user": "{{ question }}\n{{ sources }}"}, ["user.j2:1 question-last"]),
    "words after the question": ({"user": "{{ sources }}\n{{ question }}\nAnswer now."}, ["user.j2:2 question-last"]),
    "no sources": ({"user": "{{ question }}"}, ["user.j2:1 sources"]),
    "sources twice": ({"user": "{{ sources }}\n{{ sources }}\n{{ question }}"}, ["user.j2:2 sources"]),
    "one source": (
        {"user": "{% if sources %}{{ sources[0].block }}{% endif %}\n{{ question }}"}, ["user.j2:1 sources"],
    ),
    "the other way round": (
        {"user": "{% for s in sources|reverse %}{{ s.block }}\n{% endfor %}{{ question }}"}, ["user.j2:1 sources"],
    ),
    "no text": ({"source": "[{{ label }}]"}, ["source.j2:1 sources"]),
    "a cut text": (
        {"source": "[{{ label }}]\n{{ text|truncate(20, True) }}"}, ["source.j2:2 sources"],
    ),
    "text twice": ({"source": "[{{ label }}]\n{{ text }}{{ text }}"}, ["source.j2:2 sources"]),
    "an unescaped text": (
        {"source": "[{{ label }}]\n{{ text|striptags }}"}, ["source.j2:2 sources"],
    ),
    "no label": ({"source": "<source_{{ n }}>\n{{ text }}\n</source_{{ n }}>"}, ["source.j2:1 label"]),
    "a label by number": ({"source": "[S{{ n }}] {{ text }}"}, ["source.j2:1 label"]),
    "a label by position": (
        {"user": "{% for s in sources %}[{{ prefix }}{{ loop.index }}] {{ s.text }}\n{% endfor %}{{ question }}"},
        ["user.j2:1 label"],
    ),
    "a label in the rules": ({"system": "Cite like [{{ example }}], not [S1]. {{ system }}"}, ["system.j2:1 label"]),
    "no rules": ({"system": "{{ system }}"}, ["system.j2:1 rules"]),
    "no persona": ({"system": "Cite like [{{ example }}]."}, ["system.j2:1 persona"]),
    "an open tag": ({"user": USER.replace("</sources>", "")}, ["user.j2:1 tags"]),
    "tags crossed": (
        {"user": "<a><b>\n{{ sources }}\n</a></b>\n{{ question }}"}, ["user.j2:1 tags"],
    ),
    "division": ({"source": "[{{ label }}] {{ text }}\n{{ 1 / 0 }}"}, ["source.j2:2 error"]),
    "another file": ({"user": USER + "\n{% include 'x.j2' %}"}, ["user.j2:1 error"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_templates(case: str) -> None:
    """Each fault is found, at its place, and brings no others with it."""
    parts, want = BROKEN[case]
    assert found(**parts) == want


def test_every_code_has_a_broken_template() -> None:
    """A code that nothing can cause would be a check that cannot fail."""
    caused = {one.split(" ")[1] for _, want in BROKEN.values() for one in want}
    assert caused | {"json"} == set(CODES)


def test_json_lines_have_to_parse() -> None:
    """A set that says it writes JSON, and does not, breaks whoever parses the payload."""
    good = TemplateSet.named("json")
    broken = TemplateSet.from_string(source='{"label": "{{ label }}", "text": {{ text }}}', fallback=good)
    assert [one.code for one in lint(broken)] == ["json"]
    said = TemplateSet.from_string(fallback="default", settings=TemplateSettings(encoding="json"))
    assert {one.code for one in lint(said)} == {"json"}


def test_templates_that_are_fine() -> None:
    """Lint that cries wolf is switched off."""
    loop = "{% for s in sources %}[{{ s.label }}] {{ s.text|indent(2) }}\n{% endfor %}"
    assert found(user=loop + "Q: {{ question }}") == []
    assert found(user="{{ question }}\n\n" + USER) == []  # asked at both ends, and last
    assert found(source="[{{ label }}]{% if source.title %} {{ source.title|upper }}{% endif %}\n{{ text }}") == []
    assert found(user="{# <|im_start|> {% raw %} S1 #}\n" + USER) == []
    assert found(user=USER, system="{% if system %}{{ system }}{% endif %} Cite like [{{ example }}].") == []
    assert found(user="{{ system }}\n" + USER, system="Cite like [{{ example }}].") == []


def test_fields_are_those_of_the_set() -> None:
    """A set is rendered with the fields it shows, each alone and all together."""
    shown = TemplateSettings(fields=("url",))
    own = "[{{ label }}] {{ source.url }} {{ text }}"
    assert lint(TemplateSet.from_string(source=own, settings=shown)) == ()
    assert [one.code for one in lint(TemplateSet.from_string(source=own))] == ["unknown-name"]


def test_findings_are_sorted_lines() -> None:
    findings = lint(TemplateSet.from_string("{{ b }}\n{{ a }}", "{{ c }}", "{{ d }}"))
    assert list(findings) == sorted(findings)
    assert len(findings) == 4
    assert all(re.fullmatch(r"(system|source|user)\.j2:\d+: [a-z-]+: [^\n]+", str(one)) for one in findings)
    assert str(Finding("a", 1, "b", "c")) == "a:1: b: c"


# How a template causes each of Jinja's exceptions; None where none that is sandboxed can: the translation is called.
CAUSES: dict[type[Exception], str | None] = {
    jinja2.TemplateSyntaxError: "{{ text }}\n{% iff %}",
    jinja2.TemplateAssertionError: "{{ text }}\n{{ text|nope }}",
    jinja2.UndefinedError: "{{ text }}\n{{ source.nope }}",
    jinja2.exceptions.SecurityError: "{{ text }}\n{{ text.__class__.__mro__ }}",
    jinja2.exceptions.FilterArgumentError: "{{ text }}\n{{ n|round(0, 'nope') }}",
    jinja2.TemplateRuntimeError: "{{ text }}\n{{ text|map('nope')|list }}",
    jinja2.TemplateNotFound: None,
    jinja2.TemplatesNotFound: None,
    jinja2.TemplateError: None,
}


class TestExceptionsOfJinja:
    """None of Jinja's bare exceptions reaches a caller: each becomes ours, with file and line."""

    def test_the_table_is_complete(self) -> None:
        every = {
            one for one in vars(jinja2.exceptions).values()
            if isinstance(one, type) and issubclass(one, jinja2.TemplateError)
        }
        assert every == set(CAUSES)

    @pytest.mark.parametrize("kind", CAUSES, ids=lambda kind: kind.__name__)
    def test_becomes_ours(self, kind: type[Exception]) -> None:
        text = CAUSES[kind]
        if text is None:
            error = _ours(kind(["nope"] if kind is jinja2.TemplatesNotFound else "nope"), "t", "user.j2")
            assert isinstance(error, TemplateRenderError)
            assert error.template == "t/user.j2"
            assert "nope" in str(error)
            return
        with pytest.raises(TemplateRenderError, match=r"^template t/source\.j2, line 2: ") as caught:
            TemplateSet.from_string(source=text, name="t").compiled().render("source.j2", {
                "text": "x", "label": "S1", "n": 1, "attributes": (("a", "b"),), "source": View({}),
            })
        assert (caught.value.template, caught.value.lineno) == ("t/source.j2", 2)
        assert isinstance(caught.value.__cause__, kind)
        findings = lint(TemplateSet.from_string(source="[{{ label }}]" + text, name="t"))
        assert {(one.file, one.line) for one in findings} == {("source.j2", 2)}

    @pytest.mark.parametrize("text", ["{% include 'x.j2' %}", "{% include ['x.j2', 'y.j2'] %}", "{% extends 'x.j2' %}"])
    def test_files_that_are_not_there(self, text: str) -> None:
        with pytest.raises((TemplateLookupError, TemplateRenderError), match=r"user\.j2|x\.j2"):
            TemplateSet.from_string(text).compiled().render("user.j2", {})


def test_lint_reads_any_node() -> None:
    """Whatever Jinja can parse is read without an error of Python's."""
    text = "{% set a %}x{% endset %}{% macro m(b) %}{{ b }}{% endmacro %}{{ m(a) }}{% filter upper %}y{% endfilter %}"
    assert isinstance(jinja2.Environment(autoescape=True).parse(text), nodes.Template)
    assert found(user=text + USER) == []


PIECES = [
    "{{ sources }}", "{{ question }}", "{{ text }}", "{{ label }}", "{{ source.title }}", "{{ ", " }}",
    "{% if long %}", "{% endif %}", "{% for s in sources %}", "{{ s }}", "{{ s.block }}", "{% endfor %}",
    "{% raw %}", "{% endraw %}", "{#", "#}", "|safe", "|join", "{% set x = [1] %}", "{{ x }}", "{% macro m() %}",
    "{% endmacro %}", "{{ m() }}", "<a>", "</a>", "<|x|>", "{% include 'user.j2' %}", "{{ 1/0 }}",
    "{{ question.x }}", "\n", "S1", "{% block b %}", "{% endblock %}", "{{ self.b() }}",
    "{% extends 'source.j2' %}", "{{ loop }}", "{{ caller() }}", "{% break %}", "{% autoescape false %}",
    "{% endautoescape %}", "{{ none }}", "{{ '\\x00' }}", "\ufffc", "{{ {} }}",
]
FILE = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@given(FILE, FILE, FILE)
@settings(max_examples=40, deadline=None)
def test_any_template_is_linted(user: str, source: str, system: str) -> None:
    """Lint is for broken templates: whatever they hold, it answers with findings, never with an exception."""
    template = TemplateSet.from_string(user, system, source)
    findings = lint(template)
    assert all(one.code in CODES and one.line >= 1 for one in findings)
    assert findings == lint(template)


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "user.j2").write_text("{{ sources }}\n{{ question }}\nBye.", encoding="utf-8")
    assert [str(one).split(": ")[:2] for one in lint(TemplateSet.from_folder(tmp_path))] == [
        ["user.j2:2", "question-last"]
    ]
