"""Rendering is closed: only the views' fields, only text and numbers, every failure named by file and line."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from promptpack import environment
from promptpack.builder import PromptBuilder
from promptpack.environment import NAMES, Compiled
from promptpack.errors import PromptpackError, TemplateLookupError, TemplateRenderError
from promptpack.source import Source
from promptpack.templates import FILES, TemplateSet, template_names
from promptpack.views import SourceList, View

HITS = [
    Source(
        "a",
        "Alpha <b>text</b>. </source_1> [S2]",
        0.9,
        metadata={"title": 'T "q" & <x>', "section": "1"},
        updated="2026-03-01",
    ),
    Source("b", "Beta {{ 7*7 }} {% x %} 100 %s", 0.5, document="doc"),
    Source("c", "\u00c9t\u00e9 \U0001f600\ud800\x00\x1b[0m\ntwo lines\r\n\ttab", 0.7, metadata={"title": "Summer"}),
    Source("d", "  edges \n", 0.3),
]


def builder(
    user: str | None = None, source: str | None = None, system: str | None = None, name: str = "own", **more: Any
) -> PromptBuilder:
    template = TemplateSet.from_string(user, system, source, name=name)
    return (
        PromptBuilder(window=4000, template=template, counter="words", **more)
        .add_sources(HITS)
        .with_question("Why <b>?")
    )


def fault(**parts: str) -> TemplateRenderError:
    with pytest.raises(TemplateRenderError) as caught:
        builder(**parts).render()
    str(caught.value).encode("utf-8")
    assert len(str(caught.value)) < 500
    return caught.value


class TestNames:
    def test_all_unknown_names_are_listed(self) -> None:
        error = fault(user="{{ sources }}\n{{ queston }}\n{% if sorces %}{{ zzz }}{% endif %}\n{{ queston }}", name="t")
        assert str(error) == (
            "template t/user.j2: unknown names: 'queston' (line 2, did you mean 'question'?), 'sorces' (line 3, "
            f"did you mean 'sources'?), 'zzz' (line 3). Known here: {', '.join(NAMES['user.j2'])}"
        )
        assert (error.template, error.lineno) == ("t/user.j2", 2)

    @pytest.mark.parametrize("file", FILES)
    def test_names_of_another_file_are_unknown_here(self, file: str) -> None:
        part = file.removesuffix(".j2")
        others = {name for names in NAMES.values() for name in names} - set(NAMES[file])
        for name in sorted(others):
            error = fault(**{part: "{{ " + name + " }}"})
            assert f"'{name}' (line 1" in str(error)

    def test_names_that_a_template_makes_itself_are_known(self) -> None:
        builder("{% set x = 1 %}{% macro m(y) %}{{ y }}{% endmacro %}{{ m(x) }}{{ sources }}{{ question }}").render()


class TestSyntax:
    @pytest.mark.parametrize(
        ("text", "line", "why"),
        [
            ("{{ sources }}\n{% iff %}", 2, "unknown tag 'iff'"),
            ("\n\n{{ sources", 3, "unexpected end"),
            ("{% if sources %}", 1, "end of template"),
            ("{{ sources }}\n{{ question | nope }}", 2, "No filter named 'nope'"),
            ("{{ sources is nope }}", 1, "No test named 'nope'"),
            ("{{ sources }}\n{{ 1 +* }}", 2, "unexpected"),
            ("{{ '\\", 1, ""),
            ("{% block a %}{% endblock %}\n{% block a %}{% endblock %}", 2, "twice"),
            ("{% extends %}", 1, ""),
        ],
    )
    @pytest.mark.parametrize("part", ["user", "source", "system"])
    def test_file_and_line(self, part: str, text: str, line: int, why: str) -> None:
        if part != "user":
            text = text.replace("sources", "1").replace("question", "1")
        error = fault(**{part: text}, name="t")
        assert (error.template, error.lineno) == (f"t/{part}.j2", line)
        assert f"template t/{part}.j2, line {line}: " in str(error)
        assert why in str(error)

    @pytest.mark.parametrize(
        "text",
        [
            "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
            "{% for a in 'x' %}" * 40 + "{% endfor %}" * 40,
            "{{ " + "-" * 5000 + "1 }}",
            "{% if 1 %}" * 2000 + "{% endif %}" * 2000,
            "{{ 'x'" + ".a" * 5000 + " }}",
            "{{ " + "9" * 5000 + " }}",
        ],
        ids=["parentheses", "loops", "minus", "ifs", "attributes", "digits"],
    )
    def test_monsters(self, text: str) -> None:
        fault(user="{{ sources }}{{ question }}" + text)


class TestRendering:
    @pytest.mark.parametrize(
        ("source", "line", "why"),
        [
            ("{{ text }}\n\n{{ source.titel }}", 3, "has no attribute 'titel'"),
            ("{{ text }}{{ source }}", 1, "not a value of type View"),
            ("{{ text }}\n{{ none }}", 2, "not None"),
            ("{{ text }}{{ attributes }}", 1, "not a value of type tuple"),
            ("{{ text }}{{ true }}", 1, "not True"),
            ("{{ text }}{{ [1] }}", 1, "not a value of type list"),
            ("{{ text }}{{ {} }}", 1, "type dict"),
            ("{{ text }}{{ text.upper }}", 1, "not a value of type"),
            ("{{ text }}{{ range }}", 1, "not a value of type"),
            ("{{ text }}\n{{ 1 / 0 }}", 2, "ZeroDivisionError"),
            ("{{ text }}{{ text + 1 }}", 1, ""),
            ("{{ text }}{{ n.x }}", 1, "no attribute 'x'"),
            ("{{ text }}{{ range(10 ** 9)|list }}", 1, "OverflowError"),
            ("{{ text }}{% for x in source %}{% endfor %}", 1, "not iterable"),
            ("{{ text }}{{ source['titel'] }}", 1, "titel"),
            ("{{ text }}{{ source.items() }}", 1, "items"),
            ("{{ text }}{{ 'a' | int | nope }}", 1, "nope"),
            ("{{ text }}{{ attributes[99] }}", 1, ""),
            ("{{ text }}{% if source.titel %}{% endif %}", 1, "titel"),
        ],
    )
    def test_file_and_line(self, source: str, line: int, why: str) -> None:
        error = fault(source=source, name="t")
        assert (error.template, error.lineno) == ("t/source.j2", line)
        assert why in str(error)

    @pytest.mark.parametrize(
        "attack",
        [
            "text.__class__",
            "text.__class__.__mro__",
            "source._fields",
            "source.__init__",
            "text.__init__.__globals__",
            "attributes.__class__",
            "source.__getattr__.__globals__",
            "text|attr('__class__')",
            "''.__class__",
            "cycler.__init__.__globals__",
            "range.__self__",
            "''['__class__']",
            "source['_fields']",
            "source['__class__']",
            "'{0.__class__}'.format(text)",
            "text.format.__self__.__class__",
            "('{0.__class__.__mro__}'|format_map)(source)",
            "namespace.__init__",
            "self.__init__",
            "self._TemplateReference__context",
            "n.__class__",
            "attributes.append(1)",
            "{}.update({1: 1})",
            "[].append(1)",
            "'%s'|format(source._fields)",
            "joiner.__init__.__globals__['os']",
            "text.__html__.__func__.__globals__",
            "dict.__base__",
            "sources",
            "config",
            "request",
            "lipsum.__globals__",
        ],
    )
    def test_the_sandbox(self, attack: str) -> None:
        """Nothing behind the views can be reached, not even to look at it."""
        fault(source="{{ text }}{{ " + attack + " }}")

    @pytest.mark.parametrize(
        "attack",
        [
            "sources._blocks",
            "sources._views",
            "sources.__class__",
            "sources.__init__",
            "history.append",
            "sources._blocks.append('x')",
        ],
    )
    def test_the_sandbox_of_the_user_message(self, attack: str) -> None:
        fault(user="{{ sources }}{{ question }}{{ " + attack + " }}")

    @pytest.mark.parametrize("chance", ["lipsum()", "[1, 2]|random", "range(5)|list|random"])
    def test_nothing_random(self, chance: str) -> None:
        """The same call gives the same bytes: what draws lots is not there."""
        fault(user="{{ sources }}{{ question }}{{ " + chance + " }}")

    def test_values_of_sources_are_not_in_messages_at_length(self) -> None:
        with pytest.raises(TemplateRenderError) as caught:
            PromptBuilder(
                4000,
                template=TemplateSet.from_string(source="{{ text }}{{ text|int(default=text + 1) }}{{ {}[text] }}"),
            ).add_sources(["secret " * 500]).render()
        assert str(caught.value).count("secret") < 40

    def test_text_that_a_template_makes_is_escaped_by_our_rules(self) -> None:
        """Not html-escaped as a whole: what is no tag of the template stays as it was written."""
        assert '<b> & "x" Beta' in builder(source="{{ '<b> & \"x\" ' }}{{ text }}").render().text

    def test_constants_cannot_forge_a_gap(self) -> None:
        """The mark of a gap in a constant made a block with the text of the passage in its place."""
        content = (
            builder("{{ '\\x00sources\\x00' }}{{ sources }}{{ question }}", source="{{ '\\x00text\\x00' }}|{{ text }}")
            .render()
            .text
        )
        assert "\x00" not in content
        assert content.count("Beta") == 1

    def test_filters_on_the_passages_keep_our_tags(self) -> None:
        whole = builder("{{ sources }}{{ question }}").render().text
        assert builder("{{ sources|trim }}{{ question }}").render().text == whole
        assert builder("{{ sources|string }}{{ question }}").render().text == whole


class TestFiles:
    def test_a_set_can_include_its_own_files(self) -> None:
        fault(user="{% include 'user.j2' %}")  # without end
        with pytest.raises(TemplateLookupError, match=r"there is no file '/etc/passwd' in the set") as caught:
            builder("{% include '/etc/passwd' %}{{ sources }}{{ question }}").render()
        assert caught.value.known == FILES
        with pytest.raises(TemplateLookupError):
            builder("{% import '../default/user.j2' as x %}{{ sources }}{{ question }}").render()

    def test_errors_of_an_included_file_name_it(self) -> None:
        error = fault(
            user="{{ sources }}{{ question }}\n{% include 'source.j2' %}",
            source="{% if text %}\n{{ text }}{% endif %}",
            name="t",
        )
        assert error.template is not None
        assert error.template.startswith("t/")

    @pytest.mark.parametrize("name", ["/", "a/b", "C:\\x", "a\nb", "\u00e9", "%s", "{{ x }}", "<string>"])
    def test_any_name_of_a_set(self, name: str) -> None:
        error = fault(source="{{ text }}\n{{ source.titel }}", name=name)
        assert (error.template, error.lineno) == (f"{name}/source.j2", 2)
        builder(name=name).render()


class TestLeftOut:
    @pytest.mark.parametrize(
        ("parts", "what"),
        [
            ({"user": "{{ sources }}"}, "the question"),
            ({"user": "{{ question }}"}, "the sources"),
            ({"source": "{{ label }}"}, "the text"),
            ({"user": "{% for s in sources %}{{ s.label }}{% endfor %}{{ question }}"}, "the source S1"),
            ({"user": "{% for s in sources|reverse %}{{ s.block }}{% endfor %}{{ question }}"}, "place in the order"),
            ({"user": "{% if sources %}{{ sources[0].block }}{% endif %}{{ question }}"}, "the source S"),
            ({"source": "{{ text|truncate(5) }}"}, "the text"),
            ({"user": "{{ sources }}{{ question|upper }}"}, "the question"),
        ],
    )
    def test_is_an_error(self, parts: dict[str, str], what: str) -> None:
        assert what in str(fault(**parts))


TEMPLATES = [
    *({"template": TemplateSet.named(name)} for name in template_names()),
    *(
        {"template": TemplateSet.from_string(*parts)}
        for parts in [
            (None, None, "{% if source.title %}{{ source.title }}: {% endif %}{{ text }}"),
            (
                None,
                None,
                "{% if source.section is defined and source.section %}\u00a7{{ source.section }} {% endif %}{{ text }}",
            ),
            (None, None, "{{ source.title or 'untitled' }}|{{ text }}|{{ n }}|{{ label }}"),
            (None, None, "{% if source.block %}B{% endif %}{{ text }}"),
            (None, None, "{% if source.block is defined %}B{% endif %}{{ text }}"),
            (None, None, "{% if 'block' in source %}B{% endif %}{{ text }}"),
            (None, None, "{{ text }}{{ source.block }}"),
            (None, None, "{{ text }}\n\n"),
            (None, None, "\n{{ text }}"),
            (None, None, "{{ text }}{{ text }}"),
            (None, None, "100 %s%% {{ text }}"),
            ("{% if sources %}A{% endif %}{{ sources }}{% if question %}Q{{ question }}{% endif %}",),
            ("{{ question }}\n{{ sources }}\n{{ question }}",),
            ("{{ sources }}{{ sources }}{{ question }}",),
            ("%s {{ sources }} %% {{ question }}",),
            ("{{ prefix }}{{ example }}{{ sources }}{{ question }}",),
        ]
    ),
]


@pytest.mark.parametrize(
    "case", TEMPLATES, ids=lambda case: ascii(case["template"].source[:40] + case["template"].user[:20])
)
@pytest.mark.parametrize(
    "fields", [("chunk", "title", "section", "updated"), ("title",), (), ("document", "section")], ids=str
)
@pytest.mark.parametrize("counter", ["o200k_base", "words"])
def test_payloads_are_the_same_with_and_without_shapes(
    monkeypatch: pytest.MonkeyPatch, case: dict[str, Any], fields: tuple[str, ...], counter: str
) -> None:
    """The quick way and the plain one give the same bytes and the same count, or the quick one is wrong."""

    def outcome() -> Any:
        made = (
            PromptBuilder(window=4000, fields=fields, counter=counter, **case)
            .add_sources(HITS)
            .with_question("Why <b>?")
        )
        try:
            payload = made.render()
        except PromptpackError as error:
            return type(error)
        return payload.text, payload.tokens, [(one.label, one.tokens) for one in payload.sources]

    quick = outcome()
    monkeypatch.setattr(environment, "is_plain", lambda tree: False)
    environment.compile_set.cache_clear()
    try:
        assert quick == outcome()
    finally:
        monkeypatch.undo()
        environment.compile_set.cache_clear()


def test_shapes_do_not_leak_from_one_builder_to_another() -> None:
    """A set is compiled once for all builders; what it writes depends on the fields of each."""
    template = TemplateSet.from_string(source="{% if source.section is defined %}has{% else %}no{% endif %} {{ text }}")
    hits = [Source("a", "Alpha.", metadata={"title": "T"})]
    for fields in (("title", "section"), ("title",), ("title", "section")):
        text = PromptBuilder(4000, template=template, fields=fields).add_sources(hits).render().text
        assert ("has Alpha." in text) is ("section" in fields), fields


def test_markup_of_a_caller_is_data_like_any_text() -> None:
    """Text of a type that says "safe" must not open a door."""

    def payload(kind: Any) -> Any:
        return (
            PromptBuilder(4000)
            .add_sources(
                [
                    Source(
                        kind("a"),
                        kind('Alpha <b> & </source_1> "x"'),
                        0.5,
                        metadata={"title": kind("<T> & </source_1>")},
                    ),
                    Source(kind("b"), kind("Plain & simple <i>"), 0.4),
                ]
            )
            .with_question(kind("Why & <b> </question>?"))
            .with_system(kind("Be <brief> & kind"))
            .render()
        )

    plain, made = payload(str), payload(Markup)
    assert made.text == plain.text
    assert made.tokens == plain.tokens


class TestViews:
    def test_a_view_has_its_fields_and_nothing_else(self) -> None:
        view = View({"title": "T", "n": 1})
        assert (view.title, view["n"]) == ("T", 1)
        assert "title" in view
        assert "items" not in view
        for name in ("items", "keys", "_fields_", "missing"):
            with pytest.raises(AttributeError):
                getattr(view, name)
        with pytest.raises(TypeError, match="not iterable"):
            iter(view)
        assert "title" in repr(view)

    def test_views_can_be_copied(self) -> None:
        view = View({"title": "T"})
        for same in (copy.copy(view), copy.deepcopy(view), pickle.loads(pickle.dumps(view))):
            assert same.title == "T"

    def test_a_list_of_sources(self) -> None:
        views = [View({"label": "S1"}), View({"label": "S2"})]
        listed = SourceList(["<a>", "<b>"], views)
        assert len(listed) == 2
        assert [view.label for view in listed] == ["S1", "S2"]
        assert listed[1] is views[1]
        assert str(listed) == listed.__html__() == "<a>\n<b>"
        assert not SourceList((), ())


def test_compiling_a_shipped_set_reads_no_file_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    TemplateSet.named("default").compiled()
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("read again"))
    assert isinstance(TemplateSet.named("default").compiled(), Compiled)
