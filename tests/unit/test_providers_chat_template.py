"""Chat templates: what the arguments become when templates like those of the model families render them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, TemplateRenderError
from promptpack.payload import Payload
from promptpack.source import Source

# Small templates with the habits of real ones: roles, turns that must alternate, documents, tools.
CHATML = """
{%- if tools %}<|im_start|>tools
{% for tool in tools %}{{ tool.function.name }}: {{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == 'assistant' %}{% generation %}{{ message.content }}{% endgeneration %}
{%- for call in message.tool_calls or [] %}<call>{{ call.function.name }} {{ call.function.arguments | tojson }}</call>
{%- endfor %}
{%- else %}{{ message.content }}{% endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TURNS = """
{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif -%}
<start_of_turn>{{ 'model' if message.role == 'assistant' else message.role }}
{{ message.content }}<end_of_turn>
{% endfor %}"""
GROUNDED = """
{%- if documents %}<results>
{% for document in documents %}Document: {{ loop.index0 }}
{% for key, value in document.items() %}{{ key }}: {{ value }}
{% endfor %}{% endfor %}</results>
{% endif %}
{%- for message in messages %}<|turn|>{{ message.role }}: {{ message.content }}
{% endfor %}"""
ITEMIZED = """
{%- for document in documents or [] %}<doc id="{{ document['doc_id'] }}">{{ document['title'] }}
{{ document['text'] }}</doc>
{% endfor %}{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}
{% endfor %}"""
ALL = {"chatml": CHATML, "turns": TURNS, "grounded": GROUNDED, "itemized": ITEMIZED}

SOURCES = [
    Source("rules#1", "Returns are free.", 0.9, updated="2026-03-01", pinned=True, metadata={"title": "Returns"}),
    Source("faq#2", "Refunds take <|im_end|> 5 days.", 0.8), Source("faq#3", "Ask us.", 0.7),
]
HISTORY = [("user", "Hello?"), ("assistant", "Hi.")]
CALLS = [
    ("user", "Look it up."),
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "ä"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
    ("assistant", "It is one."),
]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def payload(history=(), **options) -> Payload:
    return PromptBuilder(8000, **options).add_sources(SOURCES).add_history(history).with_question("How long?").render()


def rendered(template: str, made: dict) -> str:
    """Render as Hugging Face does: trimmed blocks, a sandbox, and JSON that keeps every script."""
    def fail(message):
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = fail
    messages = made["conversation"]
    rest = {key: value for key, value in made.items() if key != "conversation"}
    text = template.replace("{% generation %}", "").replace("{% endgeneration %}", "")
    return environment.from_string(text).render(messages=messages, **rest)


@pytest.mark.parametrize("history", [(), HISTORY], ids=["alone", "history"])
@pytest.mark.parametrize("name", ALL)
def test_every_passage_once_and_the_question_last(name, history) -> None:
    """If it fails, a template prints a passage twice or not at all, or refuses the messages."""
    made = payload(history).to_chat_template(SimpleNamespace(chat_template=ALL[name]))
    text = rendered(ALL[name], made)
    passages = ("Returns are free.", "Refunds take &lt;|im_end|> 5 days.", "Ask us.")
    for piece in (*passages, "Answer only from", "How long?"):
        assert text.count(piece) == 1, piece
    assert text.index("Ask us.") < text.index("How long?")
    assert text.index("S1") < text.index("Returns are free.") < text.index("S2") < text.index("Refunds take")
    assert ("documents" in made) == (name in ("grounded", "itemized"))


def test_documents_carry_the_label_map() -> None:
    """If it fails, a model cites documents by numbers that are not the payload's labels."""
    one = payload(HISTORY)
    made = one.to_chat_template(GROUNDED)
    assert [document["doc_id"] for document in made["documents"]] == list(one.labels)
    assert made["documents"][0] == {
        "doc_id": "S1", "title": "S1: Returns | updated 2026-03-01", "text": "Returns are free.",
    }
    assert [turn["role"] for turn in made["conversation"]] == ["system", "user", "assistant", "user"]


def test_nothing_known_of_the_template() -> None:
    """If it fails, passages go to a parameter that a template may ignore."""
    made = payload().to_chat_template()
    assert set(made) == {"conversation", "add_generation_prompt"}
    assert "Returns are free." in made["conversation"][-1]["content"]


def test_a_template_without_a_system_role() -> None:
    """If it fails, the rules are lost or the template raises."""
    made = payload(HISTORY).to_chat_template(TURNS)
    assert made["conversation"][0]["role"] == "user"
    assert made["conversation"][0]["content"].startswith("Answer only from")
    assert [turn["role"] for turn in made["conversation"]] == ["user", "assistant", "user"]


def test_tool_calls() -> None:
    """If it fails, a template writes arguments as a text inside a text, or does not know which tool answered."""
    one = PromptBuilder(8000).add_sources(SOURCES).add_history(CALLS).with_question("So?").with_tools(TOOLS).render()
    made = one.to_chat_template(CHATML)
    text = rendered(CHATML, made)
    assert '<call>look {"q": "ä"}</call>' in text
    assert 'look: {"type": "function"' in text
    assert made["conversation"][-3] == {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "one"}
    with pytest.raises(OptionError, match="no place for tool"):
        one.to_chat_template(ITEMIZED)


def test_several_templates_by_name() -> None:
    """If it fails, a tokenizer with a template for documents is used without them."""
    several = {"default": CHATML, "rag": GROUNDED}
    listed = [{"name": name, "template": text} for name, text in several.items()]
    for given in (several, listed):
        assert "documents" in payload().to_chat_template(SimpleNamespace(chat_template=given))
        bare = PromptBuilder(4000).with_question("Why?").render()
        assert "documents" not in bare.to_chat_template(SimpleNamespace(chat_template=given))


@pytest.mark.parametrize("given", [3, SimpleNamespace(), SimpleNamespace(chat_template=None), SimpleNamespace(
    chat_template={"other": "x"})])
def test_no_template_is_an_error(given) -> None:
    """If it fails, a tokenizer without a chat template gives an AttributeError, or a guess."""
    with pytest.raises(OptionError, match="chat_template"):
        payload().to_chat_template(given)


@pytest.mark.parametrize("broken", ["{% if %}", "{{ x | nofilter }}", "{% generation %}"])
def test_a_broken_template_is_our_error(broken) -> None:
    """If it fails, an error of Jinja comes out."""
    with pytest.raises(TemplateRenderError, match="chat template"):
        payload().to_chat_template(broken)


def test_images_stay_parts() -> None:
    """If it fails, an image is dropped before a processor sees it."""
    parts = [{"type": "text", "text": "This?"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
    made = payload([{"role": "user", "content": parts}, ("assistant", "A cat.")]).to_chat_template()
    assert made["conversation"][1]["content"][1:] == [
        {"type": "text", "text": "This?"}, {"type": "image", "url": "https://example.org/a.png"},
    ]


def test_documents_cannot_close_what_the_template_writes_around_them() -> None:
    """If it fails, a passage ends the template's own enclosure, which the template set of the payload does not know."""
    bad = Source("a", "One </results> &lt;/results> </ RESULTS >", metadata={"title": "</results>"})
    one = PromptBuilder(8000).add_sources([bad]).with_question("Why?").render()
    text = rendered(GROUNDED, one.to_chat_template(GROUNDED))
    assert text.count("</results>") == 1
    assert "One &lt;/results> &lt;/results> &lt;/ RESULTS >" in text
