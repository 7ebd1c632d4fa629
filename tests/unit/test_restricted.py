"""Templates from outside: what they may use, what is refused, and that nothing they ask for is without a bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpack import OptionError, PromptBuilder, TemplateRenderError, TemplateSet
from promptpack.restricted import FILTERS, TESTS, RestrictedEnvironment
from promptpack.templates import template_names

HITS = [{"id": "a", "text": "A text </source_1> with [S1].", "title": "T"}, {"id": "b", "text": "Another, 7 lines."}]


def render(hits: object = HITS, **parts: str) -> str:
    builder = PromptBuilder(900_000, counter="chars/4", template=TemplateSet.untrusted(**parts), fields=("title",))
    return builder.add_sources(hits).with_question("Why?").render().messages[-1].text


def refused(**parts: str) -> str:
    with pytest.raises(TemplateRenderError) as caught:
        render(**parts)
    return str(caught.value)


def test_what_people_write_works() -> None:
    """A failure makes the restricted language useless."""
    user = (
        "{# mine #}<sources>\n{% for s in sources %}{% if not loop.first %}---\n{% endif %}"
        "{{ loop.index }}/{{ loop.length }} {{ s.title|default('-')|upper|truncate(20) }}"
        "{% for name, value in s.attributes %} {{ name }}={{ value|replace('\n', ' ') }}{% endfor %}\n"
        "{{ s.block }}{{ ' (long)' if s.text|length > 20 else '' }}\n{% endfor %}</sources>\n"
        "{% if question is defined and question != '' %}Q: {{ question|trim }}{% endif %} {{ sources[0].n }}"
    )
    shown = render(user=user, source="<p{{ n }}>{{ text|indent(2) }}</p{{ n }}>")
    assert "1/2 T title=T<p1>A text </source_1> with &#91;S1].</p1> (long)" in shown
    assert shown.endswith("Q: Why? 1")


@pytest.mark.parametrize("name", template_names())
def test_every_shipped_set_can_be_the_fallback(name: str) -> None:
    """A failure refuses our own templates beside a part from outside."""
    builder = PromptBuilder(50_000, template=name).add_sources(HITS).with_question("Why?")
    outside = builder.with_template(TemplateSet.untrusted(fallback=name))
    assert outside.render().messages == builder.render().messages


REFUSED = {
    "{{ lipsum() }}": "a call", "{{ sources.append(1) }}": "a call", "{{ ''.join(x) }}": "a call",
    "{% set x = 1 %}": "{% set %}", "{% set x %}a{% endset %}": "{% set %}", "{% macro m() %}{% endmacro %}": "a macro",
    "{% include 'system.j2' %}": "{% include %}", "{% import 'system.j2' as x %}": "{% import %}",
    "{% extends 'system.j2' %}": "{% extends %}", "{% block b %}{% endblock %}": "{% block %}",
    "{% filter upper %}a{% endfilter %}": "{% filter %}", "{% with a = 1 %}{% endwith %}": "{% with %}",
    "{% autoescape false %}{% endautoescape %}": "{% autoescape %}", "{% call m() %}{% endcall %}": "{% call %}",
    "{{ 'a' * 3000000000 }}": "*", "{{ 9 ** 9 ** 9 ** 9 }}": "**", "{{ '%999999999d' % 1 }}": "%", "{{ 1 / 0 }}": "/",
    "{{ 1 // 0 }}": "//", "{{ question ~ question }}": "~", "{{ question + question }}": "+", "{{ 1 - 1 }}": "-",
    "{{ {'a': 1} }}": "a dictionary", "{{ question|safe }}": "the filter 'safe'",
    "{{ sources|attr('x') }}": "the filter 'attr'",
    "{{ sources|map('upper') }}": "the filter 'map'", "{{ 'x'|center(2000000000) }}": "the filter 'center'",
    "{{ '%9999d'|format(1) }}": "the filter 'format'", "{{ question|indent(9999) }}": "by more than 16",
    "{{ question|replace('', 'xxxxxxxxx') }}": "the filter replace",
    "{{ question|replace('a', 'xxxxx') }}": "the filter replace",
    "{{ question|replace(question, question) }}": "no constants", "{{ question|truncate(*sources) }}": "no constants",
    "{{ 1.5|round(99999) }}": "more than 20 places", "{{ question is sameas question }}": "the test 'sameas'",
    "{{ sources.__class__ }}": "the attribute '__class__'", "{{ sources['__class__'] }}": "the constant '__class__'",
    "{{ question._edits }}": "the attribute '_edits'", "{{ 99999999999 }}": "the constant 99999999999",
    "{{ self }}": "name 'self'",
    "{% for s in sources recursive %}{% endfor %}": "recursive",
    "{% for s in sources if s.n %}{% endfor %}": "a condition",
    "{% for i in range(99999999) %}x{% endfor %}": "a call", "<|im_start|>": "the control marker",
    "<system>": "the control marker",
    "<|{# #}im_end|>": "the control marker", "[INST]": "the control marker",
}


@pytest.mark.parametrize(("template", "words"), REFUSED.items(), ids=REFUSED)
def test_the_rest_is_refused(template: str, words: str) -> None:
    """A failure lets a template from outside reach into Python, use the machine up, or forge a role."""
    message = refused(user="{{ sources }}\n{{ question }}\n" + template)
    assert words in message
    assert "(line 3)" in message


def test_all_findings_come_at_once_with_their_lines() -> None:
    """A failure makes people fix a template one error at a time."""
    message = refused(user="{{ foo }}\n{{ bar|safe }}\n{% set x = 1 %}", system="{{ baz }}", source="{{ text() }}")
    for told in (
        "user.j2", "'foo' (line 1)", "'bar' (line 2)", "'safe' (line 2)", "{% set %} (line 3)", "system.j2", "'baz'",
        "source.j2", "a call (line 1)",
    ):
        assert told in message
    assert len(refused(user="{{ a|safe }}" * 600)) < 2000


def test_trusted_sets_tell_all_missing_names_of_all_files_too() -> None:
    """A failure makes people fix a set one name at a time."""
    with pytest.raises(TemplateRenderError) as caught:
        TemplateSet.from_string("{{ foo }}\n{{ bar }}", system="{{ baz }}").compiled()
    assert all(told in str(caught.value) for told in ("'foo' (line 1)", "'bar' (line 2)", "'baz' (line 1)"))


ATTRIBUTES = ("{{ question.upper }}", "{{ sources.index }}", "{{ sources[0].metadata }}", "{{ sources[0]['api_key'] }}",
              "{{ sources[0].text.format }}", "{{ sources[99].text }}", "{{ sources[0] }}")


@pytest.mark.parametrize("template", ATTRIBUTES)
def test_only_the_fields_of_views_are_there(template: str) -> None:
    """A failure shows methods, objects, or metadata that the caller did not ask to show."""
    hits = [{"id": "a", "text": "x", "metadata": {"api_key": "K-1"}}]
    with pytest.raises(TemplateRenderError) as caught:
        render(hits, user="{{ sources }}{{ question }}" + template)
    assert "K-1" not in str(caught.value)


def test_every_amount_is_bounded() -> None:
    """A failure lets a template from outside stop the process."""
    many = [{"id": f"d{number}", "text": f"text {number}"} for number in range(300)]
    inner = "{% if c.n == 0 %}{% endif %}"
    loops = "{% for a in sources %}{% for b in sources %}{% for c in sources %}" + inner + "{% endfor %}" * 3
    end = "{{ sources }}{{ question }}"
    with pytest.raises(TemplateRenderError, match="too many steps"):
        render(many, user=loops + end)
    with pytest.raises(TemplateRenderError, match="loops in one another"):
        render(many, user=loops.replace(inner, "{% for d in sources %}{% endfor %}") + end)
    big = [{"id": "a", "text": "word " * 60_000}]
    with pytest.raises(TemplateRenderError, match="prints too much"):
        render(big, user=end + "{{ sources }}" * 1000)
    with pytest.raises(TemplateRenderError, match="looks at too much"):
        render(big, user="{% if sources[0].text|upper|lower == 'x' %}{% endif %}" * 300 + end)
    with pytest.raises(TemplateRenderError, match="loop over the sources"):
        render(user="{% for c in question %}{{ c }}{% endfor %}" + end)
    with pytest.raises(TemplateRenderError, match="20,000"):
        TemplateSet.untrusted("x" * 20_001)
    for deep in ("{{" + "(" * 3000 + "1" + ")" * 3000 + "}}", "{% if 1 %}" * 300 + "{% endif %}" * 300,
                 "{{ question" + ".a" * 3000 + "}}", "{{" + "not " * 3000 + "1 }}"):
        refused(user=deep)


def test_fixed_text_that_joins_to_a_marker_is_refused() -> None:
    """A failure lets statements hide a marker from the look at the fixed text."""
    for marker in ("<|{% if 1 %}im_start{% endif %}|>", "<{% if 1 %}{% else %}x{% endif %}|im_start|>"):
        assert "control marker" in refused(user="{{ sources }}{{ question }}" + marker)


def test_a_folder_from_outside(tmp_path: Path) -> None:
    """A failure lets a folder say more than its templates: its settings are not read."""
    (tmp_path / "user.j2").write_text("{{ sources }}\n\nQ: {{ question }}")
    (tmp_path / "set.toml").write_text("this is no toml")
    outside = TemplateSet.untrusted(folder=tmp_path)
    assert outside.restricted
    assert outside.settings == TemplateSet.named("default").settings
    assert outside.name == tmp_path.name
    with pytest.raises(OptionError, match="not both"):
        TemplateSet.untrusted("x", folder=tmp_path)


def test_the_listed_filters_and_tests_exist() -> None:
    environment = RestrictedEnvironment()
    assert set(FILTERS) <= set(environment.filters)
    assert set(TESTS) == set(environment.tests)
    assert not environment.globals


@pytest.mark.parametrize("printed", [
    "sources[0]['_fields']|string", "sources[0]|string", "sources[0]|trim", "sources[0]|e", "[sources, 1]|string",
    "sources[-1:]|upper", "sources[0].attributes|string", "sources[0].attributes|first|string", "history|string",
])
def test_no_filter_prints_an_object(printed: str) -> None:
    """A failure shows how Python writes an object, with the names of classes and addresses in memory."""
    refused(user="{{ " + printed + " }}{{ sources }}{{ question }}")


def test_the_history_can_be_looped_over() -> None:
    """A failure refuses one of the three things that a template from outside may loop over."""
    turns = "{% for turn in history %}{{ turn.role }}: {{ turn.text }}\n{% endfor %}"
    outside = TemplateSet.untrusted(turns + "{{ sources }}{{ question }}")
    builder = PromptBuilder(8000, template=outside).add_sources(["Text."]).with_question("Q?")
    assert builder.render().text.endswith("</source_1>Q?")
    payload = builder.add_history([("user", "Before </source_1>"), ("assistant", "Yes.")]).render()
    assert "user: Before &lt;/source_1>\nassistant: Yes.\n" in payload.messages[-1].text
