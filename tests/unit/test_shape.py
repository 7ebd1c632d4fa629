"""A shape gives what rendering gives, letter for letter, or there is no shape."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from promptpack.environment import Compiled
from promptpack.errors import TemplateRenderError
from promptpack.shape import Hole, HoleUsedError, Shape, mark
from promptpack.templates import TemplateSet, template_names
from promptpack.views import SourceList, View

FIELDS = ("chunk", "title", "section")
VALUES = {"chunk": "a#1", "title": "T & t", "section": "\u00a7 9"}
TEXTS = [
    "Alpha.",
    "x",
    "100 % %s %(n)s {text} {{ text }}",
    "two\nlines",
    " edges ",
    "n",
    "label",
    "S1",
    "\u00e9\U0001f600",
]


def holes(names: tuple[str, ...]) -> dict[str, Any]:
    """The context of a passage with a hole for each value, as the library makes it."""
    shown = {name: Hole("@" + name) for name in names}
    own = {"n": Hole("n"), "label": Hole("label"), "text": Hole("text"), "attributes": tuple(shown.items())}
    absent = {name: Markup("") for name in FIELDS}
    return {**own, "source": View({**absent, **shown, **own})}


def real(names: tuple[str, ...], number: int, text: str) -> dict[str, Any]:
    """The context of a passage with its values."""
    shown = {name: Markup(VALUES[name]) for name in names}
    own = {"n": number, "label": Markup(f"S{number}"), "text": Markup(text), "attributes": tuple(shown.items())}
    absent = {name: Markup("") for name in FIELDS}
    return {**own, "source": View({**absent, **shown, **own})}


def filling(names: tuple[str, ...], number: int, text: str) -> dict[str, str]:
    return {"text": text, "n": str(number), "label": f"S{number}", **{"@" + name: VALUES[name] for name in names}}


def rendered(compiled: Compiled, context: dict[str, Any]) -> str | None:
    try:
        return compiled.render("source.j2", context)
    except TemplateRenderError:
        return None


def check(source: str) -> bool:
    """Assert that filling equals rendering wherever there is a shape; return whether there was one."""
    try:
        compiled = Compiled(TemplateSet.from_string(source=source))
    except TemplateRenderError:
        return False
    some = False
    for names in ((), ("title",), FIELDS):
        shape = compiled.shape("source.j2", names, lambda names=names: holes(names))  # type: ignore[misc]
        if shape is None:
            continue
        some = True
        for number, text in itertools.product((1, 2, 10), TEXTS):
            want = rendered(compiled, real(names, number, text))
            assert shape.fill(filling(names, number, text)) == want, (source, names, number, text)
    return some


PLAIN = [
    "{{ text }}",
    "{{ n }}{{ label }}{{ text }}",
    '<s id="{{ label }}">\n{{ text }}\n</s>',
    "{# note #}{{ text }}",
    "{% for name, value in attributes %}{{ name }}={{ value }};{% endfor %}{{ text }}",
    "{% for a, b in attributes %}{{ loop.index }}{% if not loop.last %},{% endif %}{% else %}-{% endfor %}{{ text }}",
    "{% if source.title %}{{ source.title }}{% else %}-{% endif %}{{ text }}",
    "{{ source.title or 'none' }}{{ text }}",
    "{{ source.title and 'titled' }}{{ text }}",
    "{{ text if text else 'x' }}",
    "{{ 'a' if source.section else 'b' }}{{ text }}",
    "{% if source.title is defined and source.title is not none %}A{% endif %}{{ text }}",
    "{% for a, b in attributes %}{% if a == 'title' %}{{ b }}{% elif a != 'chunk' %}!{% endif %}{% endfor %}{{ text }}",
    "{% for a, b in attributes %}{% if a in ('chunk', 'title') %}{{ b }}{% endif %}{% endfor %}{{ text }}",
    "{{ text }}{{ text }}{{ n }}",
    "100 % %s %% {{ text }} %(text)s",
    "{{ '%s' }}{{ text }}",
    "{{ text }}\n",
    "\n\n{{ text }}\n\n",
    "{%- if text -%}  {{ text }}  {%- endif -%}",
    "{% raw %}{{ text }}{% endraw %}{{ text }}",
    "{{ '\\x00text\\x00' }}{{ text }}",
    "{% for a in (text, label, n) %}[{{ a }}]{% endfor %}",
    "{{ source.text }}{{ source.label }}{{ source.n }}",
    "{% if not source.title %}untitled {% endif %}{{ text }}",
    "{{ 3 }}{{ 2.5 }}{{ 'x' }}{{ text }}",
    "\u00e9{{ text }}\U0001f600",
    "{% if (text,) == (text,) %}same{% endif %}{{ text }}",
]
LOOKS = [
    "{{ text|upper }}",
    "{{ text|length }}{{ text }}",
    "{{ text|trim }}",
    "{% set x = text %}{{ x }}",
    "{{ text ~ label }}",
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(text) }}",
    "{{ text.upper() }}",
    "{{ text[:3] }}{{ text }}",
    "{{ n + 1 }}{{ text }}",
    "{% if n == 1 %}first{% endif %}{{ text }}",
    "{% if 1 == n %}first{% endif %}{{ text }}",
    "{% if n > 1 %}next{% endif %}{{ text }}",
    "{% if text == 'x' %}X{% endif %}{{ text }}",
    "{% if text != '' %}X{% endif %}{{ text }}",
    "{% if 'x' in text %}X{% endif %}{{ text }}",
    "{% if text in 'xyz' %}X{% endif %}{{ text }}",
    "{% if label in ('S1', 'S2') %}X{% endif %}{{ text }}",
    "{% if label in ['S1', 'S2'] %}X{% endif %}{{ text }}",
    "{% if n in (1, 2) %}X{% endif %}{{ text }}",
    "{% if n is odd %}X{% endif %}{{ text }}",
    "{% if n is divisibleby 2 %}X{% endif %}{{ text }}",
    "{% if text is string %}X{% endif %}{{ text }}",
    "{% if n is number %}X{% endif %}{{ text }}",
    "{% if text is sameas label %}X{% endif %}{{ text }}",
    "{% if text is eq 'x' %}X{% endif %}{{ text }}",
    "{% if text is mapping %}X{% endif %}{{ text }}",
    "{% if text is iterable %}X{% endif %}{{ text }}",
    "{% if text is callable %}C{% endif %}{{ text }}",
    "{% if text.upper is defined %}A{% else %}B{% endif %}{{ text }}",
    "{% if text.name is defined %}A{% else %}B{% endif %}{{ text }}",
    "{% if text.mark is defined %}A{% else %}B{% endif %}{{ text }}",
    "{% if n.real is defined %}A{% else %}B{% endif %}{{ text }}",
    "{% if n.real %}A{% else %}B{% endif %}{{ text }}",
    "{% if text._mark is defined %}A{% else %}B{% endif %}{{ text }}",
    "{% if text.__html__ is defined %}A{% else %}B{% endif %}{{ text }}",
    "{% if text.__len__ is defined %}A{% else %}B{% endif %}{{ text }}",
    "{% if text.strip %}A{% else %}B{% endif %}{{ text }}",
    "{% for c in text %}{{ c }}-{% endfor %}",
    "{% for c in label %}{{ c }}{% endfor %}{{ text }}",
    "{% for a, b in (text, label) %}{{ a }}{% endfor %}",
    "{% if (text,) == (label,) %}X{% endif %}{{ text }}",
    "{% if (1, n) < (1, 5) %}X{% endif %}{{ text }}",
    "{% if attributes == () %}X{% endif %}{{ text }}",
    "{% for pair in attributes %}{% if pair == ('title', 'T & t') %}X{% endif %}{% endfor %}{{ text }}",
    "{% for name, value in attributes %}{% if value == 'a#1' %}X{% endif %}{% endfor %}{{ text }}",
    "{% for name, value in attributes if name != 'chunk' %}{{ value }}{% endfor %}{{ text }}",
    "{% if source.title == source.section %}X{% endif %}{{ text }}",
    "{% if source == text %}X{% endif %}{{ text }}",
    "{% if 'title' in source %}X{% endif %}{{ text }}",
    "{{ source['title'] }}{{ text }}",
    "{% if text < 'y' %}X{% endif %}{{ text }}",
    "{% if n %}{{ n * 2 }}{% endif %}{{ text }}",
    "{{ -n }}{{ text }}",
    "{{ n // 2 }}{{ text }}",
    "{% filter upper %}{{ text }}{% endfilter %}",
    "{% call(x) m() %}{% endcall %}{{ text }}",
    "{% with x = text %}{{ x }}{% endwith %}",
    "{{ [text, label]|join('-') }}",
    "{{ {'a': text}['a'] }}",
    "{{ '%s' % text }}",
    "{{ '{}'.format(text) }}",
    "{{ text|e }}",
    "{{ text|safe }}",
    "{% autoescape false %}{{ text }}{% endautoescape %}",
    "{{ text is defined }}",
    "{{ none }}{{ text }}",
    "{{ attributes }}{{ text }}",
    "{% if loop is defined %}X{% endif %}{{ text }}",
    "{{ loop.index }}{{ text }}",
    "{% block a %}{{ text }}{% endblock %}",
    "{% if n is none or n is undefined %}X{% endif %}{{ text }}",
    "{{ text.name }}",
    "{{ text.mark }}",
    "{{ source.nothing }}{{ text }}",
    "{% for a, b in attributes %}{% for c, d in attributes %}{% if b == d %}={% endif %}{% endfor %}{% endfor %}",
    "{% for x in attributes recursive %}{{ loop.depth }}{% endfor %}{{ text }}",
    "{% if text and label == 'S1' %}X{% endif %}{{ text }}",
    "{% if text or label == 'S1' %}X{% endif %}{{ text }}",
    "{% if not (n == 1) %}X{% endif %}{{ text }}",
    "{% if n == 1 == 1 %}X{% endif %}{{ text }}",
    "{{ 'a' if n == 1 else 'b' }}{{ text }}",
    "{% for a in text if a %}{{ a }}{% endfor %}",
    "{{ (text, 1) in ((text, 1), 2) }}",
    "{% if (text, 1) in ((text, 1), 2) %}X{% endif %}{{ text }}",
    "{% if (label, 1) in ((text, 1), 2) %}X{% endif %}{{ text }}",
    "{% for name, value in attributes %}{{ loop.previtem }}{% endfor %}{{ text }}",
    "{% for name, value in attributes %}{% if loop.previtem is defined %},{% endif %}{{ value }}{% endfor %}{{ text }}",
    "{% for name, value in attributes %}{% if loop.changed(value) %}!{% endif %}{% endfor %}{{ text }}",
    "{{ loop }}{{ text }}",
]


@pytest.mark.parametrize("source", PLAIN)
def test_plain_templates_have_a_shape(source: str) -> None:
    """Without one every block is rendered and counted as a whole: some fifty times slower."""
    assert check(source)


@pytest.mark.parametrize("source", LOOKS)
def test_templates_that_look_into_values_are_never_wrong(source: str) -> None:
    """A shape that was learned with holes, and answers a question about the value, answers alike for every passage."""
    check(source)


@pytest.mark.parametrize("name", template_names())
def test_every_shipped_set_has_a_shape(name: str) -> None:
    assert check(TemplateSet.named(name).source)


NAMES = st.sampled_from(
    [
        "text",
        "n",
        "label",
        "source.title",
        "source.section",
        "source.text",
        "source.n",
        "source",
        "attributes",
        "value",
        "name",
        "'x'",
        "'S1'",
        "1",
        "none",
        "loop.index",
        "loop.first",
        "loop.last",
        "text.upper",
        "text.name",
        "n.real",
        "(text, 1)",
        "('S1', 'x')",
        "''",
    ]
)
EXPRESSIONS = st.recursive(
    NAMES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["==", "!=", "<", ">", "in", "not in", "and", "or"]), inner).map(
            lambda p: f"({p[0]} {p[1]} {p[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        inner.map(lambda x: f"(not {x})"),
        st.tuples(NAMES, st.sampled_from(["defined", "undefined", "none", "not none", "not defined"])).map(
            lambda p: f"({p[0]} is {p[1]})"
        ),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}, {p[1]})"),
    ),
    max_leaves=5,
)
DATA = st.text(st.sampled_from('ab %s<>\n"&{}\u00e9'), max_size=6).filter(
    lambda x: "{{" not in x and "{%" not in x and "{#" not in x
)
BODIES = st.recursive(
    st.one_of(DATA, EXPRESSIONS.map(lambda x: "{{ " + x + " }}"), st.just("{{ text }}"), st.just("{{ label }}")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.tuples(EXPRESSIONS, inner, inner).map(
            lambda p: "{% if " + p[0] + " %}" + p[1] + "{% else %}" + p[2] + "{% endif %}"
        ),
        inner.map(lambda body: "{% for name, value in attributes %}" + body + "{% else %}e{% endfor %}"),
        st.tuples(EXPRESSIONS, inner).map(lambda p: "{% for value in (" + p[0] + ", label) %}" + p[1] + "{% endfor %}"),
        st.tuples(inner, st.sampled_from(["-", ""])).map(
            lambda p: "{%" + p[1] + " if text " + p[1] + "%}" + p[0] + "{%" + p[1] + " endif %}"
        ),
    ),
    max_leaves=8,
)


@given(BODIES)
@settings(max_examples=250, deadline=None)
def test_made_up_templates_are_never_wrong(source: str) -> None:
    check(source)


class TestUserMessage:
    """The same for user.j2: what stands around the passages and the question."""

    @pytest.mark.parametrize("name", template_names())
    @pytest.mark.parametrize("with_sources", [True, False])
    @pytest.mark.parametrize("question", ["Why?", ""])
    def test_shipped_sets(self, name: str, with_sources: bool, question: str) -> None:
        compiled = TemplateSet.named(name).compiled()
        common = {"system": Markup(""), "example": Markup("S1"), "prefix": Markup("S"), "history": (), "long": False}
        blocks = ["<a>\nx\n</a>", "100 %s"] if with_sources else []
        shape = compiled.shape(
            "user.j2",
            (with_sources, bool(question), "test"),
            lambda: {
                **common,
                "sources": Hole("sources") if with_sources else SourceList((), ()),
                "question": Hole("question") if question else Markup(""),
            },
        )
        assert shape is not None
        views = [View({"text": Markup("x")})] * len(blocks)
        want = compiled.render(
            "user.j2", {**common, "sources": SourceList(blocks, views), "question": Markup(question)}
        )
        assert shape.fill({"sources": "\n".join(blocks), "question": question}) == want

    def test_loops_over_passages_are_rendered(self) -> None:
        compiled = Compiled(TemplateSet.from_string("{% for s in sources %}{{ s.text }}{% endfor %}{{ question }}"))
        assert compiled.shape("user.j2", (), lambda: {"sources": Hole("sources"), "question": Hole("question")}) is None


class TestHole:
    @pytest.mark.parametrize(
        "use",
        [
            str,
            repr,
            len,
            iter,
            int,
            float,
            list,
            lambda h: h == 1,
            lambda h: h != 1,
            lambda h: h < 1,
            lambda h: 1 in h,
            lambda h: h[0],
            lambda h: h + "x",
            lambda h: "x" + h,
            lambda h: h % 1,
            lambda h: 2 * h,
            lambda h: h(),
            lambda h: f"{h}",
            lambda h: h.upper,
            lambda h: h.name,
            lambda h: range(h),
        ],
    )
    def test_using_one_says_so(self, use: Any) -> None:
        with pytest.raises(HoleUsedError):
            use(Hole("text"))

    def test_one_is_there(self) -> None:
        assert bool(Hole("text"))
        assert mark(Hole("text")) == "\x00text\x00"
        with pytest.raises(TypeError):
            hash(Hole("text"))


@pytest.mark.parametrize(
    ("literals", "gaps", "values", "text"),
    [
        (("a",), (), {}, "a"),
        (("", ""), ("t",), {"t": "x"}, "x"),
        (("%", "%s", "%%"), ("a", "b"), {"a": "%d", "b": "%"}, "%%d%s%%%"),
        (("", "", ""), ("a", "a"), {"a": "1"}, "11"),
        (("{", "}"), ("a",), {"a": "{b}"}, "{{b}}"),
    ],
)
def test_fill(literals: tuple[str, ...], gaps: tuple[str, ...], values: dict[str, str], text: str) -> None:
    assert Shape(literals, gaps).fill(values) == text


def test_shapes_are_learned_once_for_each_combination_of_fields() -> None:
    compiled = Compiled(TemplateSet.named("default"))
    asked = []

    def context() -> dict[str, Any]:
        asked.append(1)
        return holes(("title",))

    first = compiled.shape("source.j2", ("title",), context)
    assert compiled.shape("source.j2", ("title",), context) is first
    assert len(asked) == 1
