"""Every shipped set: the same labels, exact counts, the vendor's form, and words that the library understands."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from promptpack import Payload, PromptBuilder, Source
from promptpack.builder import DEFAULT_FIELDS
from promptpack.citations.refusals import is_refusal
from promptpack.escape.markers import load
from promptpack.messages import text_pieces
from promptpack.render import LONG
from promptpack.shape import Hole
from promptpack.templates import FILES, TemplateSet, root, template_names
from promptpack.tokens import counter

NAMES = template_names()
EXPECTED = (
    "claude", "claude-native", "command", "deepseek", "default", "gemini", "gemma", "gpt", "granite", "json", "llama",
    "markdown", "mistral", "openai-cite", "plain", "qwen",
)
HITS = [
    Source("a#1", "Alpha is first.", 0.9, updated="2026-03-01", metadata={"title": "A & B", "section": "1 > 2"}),
    Source("b#1", "Beta, in two\n\nparagraphs: <b>bold</b> if a < b.", 0.8, metadata={"title": 'The "second"'}),
    Source("c#1", "Gamma has no fields.", 0.7),
]
QUESTION = "What is first?"


def render(name: str, hits: list[Source] = HITS, question: str | None = QUESTION, **more: object) -> Payload:
    builder = PromptBuilder(8000, template=name, **more)  # type: ignore[arg-type]
    return builder.add_sources(hits).with_question(question).render()


def test_the_sets_that_ship() -> None:
    assert NAMES == EXPECTED


@pytest.mark.parametrize("name", NAMES)
class TestEverySet:
    def test_labels(self, name: str) -> None:
        """The same chunk has the same label whatever the payload looks like, also the labels of a conversation."""
        made = render(name)
        assert dict(made.labels) == dict(render("default").labels)
        later = render(name, [HITS[2], Source("d#1", "Delta.", 1.0)], labels=made.carry_labels())
        text = later.messages[-1].text
        assert {one.label: one.chunk_ids[0] for one in later.sources} == {made_label(made, "c#1"): "c#1", "S4": "d#1"}
        assert all(re.search(rf"\b{one.label}\b", text) for one in later.sources)

    def test_other_prefixes(self, name: str) -> None:
        from promptpack import Labels

        made = render(name, labels=Labels(prefix="D"))
        assert not re.search(r"\bS\d", made.text)
        assert made.text.count("D1") >= 2  # the source and the rules

    def test_everything_is_there_once_and_the_question_is_last(self, name: str) -> None:
        made = render(name)
        text = made.messages[-1].text
        plain = text.replace("\\n", "\n")  # as JSON writes it
        for source in HITS:
            assert plain.count(source.text) == 1
        assert text.count(QUESTION) == 1
        after = re.sub(r"</\w+>", "", text.rpartition(QUESTION)[2])
        assert not re.search(r"\w", after)

    def test_counts_are_exact(self, name: str) -> None:
        """Tokens are added up block by block; where that were wrong, a full window would overflow."""
        count = counter("o200k_base")
        for hits in ([], HITS[:1], HITS, [Source(f"x{i}", f"Passage {i}. " * 90, 1 / (i + 1)) for i in range(12)]):
            made = render(name, hits)
            whole = sum(3 + sum(count(piece) for piece in text_pieces(one)) for one in made.messages) + 3
            assert made.tokens == whole

    def test_each_file_is_plain(self, name: str) -> None:
        """A set that looks into its values is rendered by Jinja passage by passage, fifty times slower."""
        compiled = TemplateSet.named(name).compiled()
        hole = {one: Hole(one) for one in ("label", "n", "text")}
        source = compiled.shape("source.j2", ("test",), lambda: {**hole, "attributes": (("title", Hole("@title")),)})
        assert source is not None
        assert {"label", "text", "@title"} <= set(source.gaps)

    @pytest.mark.parametrize("fields", [(), ("url",), ("title",), ("chunk",), ("section", "title"), DEFAULT_FIELDS])
    def test_any_fields(self, name: str, fields: tuple[str, ...]) -> None:
        """A set must not count on fields that a builder may leave out."""
        hits = [Source("a#1", "Alpha.", 0.9, metadata={"title": "T", "url": "u?a=1&b=2", "page": 7}), *HITS]
        text = render(name, hits, fields=fields).messages[-1].text
        assert ("u?a=1&b=2" in text) is ("url" in fields)
        assert ("a#1" in text) is ("chunk" in fields)
        assert "None" not in text

    def test_empty_parts(self, name: str) -> None:
        made = render(name, [], None)
        assert all("None" not in one.text for one in made.messages)
        alone = render(name, [])
        assert QUESTION in alone.messages[-1].text
        assert QUESTION not in render(name, HITS, None).text

    def test_the_persona_comes_first_and_the_rules_stay(self, name: str) -> None:
        builder = PromptBuilder(8000, template=name).add_sources(HITS).with_question(QUESTION)
        made = builder.with_system("You are the desk.").render()
        assert made.messages[0].text.startswith("You are the desk.")
        assert not made.messages[0].text.endswith("\n")
        bare = builder.render()
        rules = bare.text.replace("SYSTEM\n", "").replace("USER\n", "")
        assert all(line in made.text for line in rules.splitlines())

    def test_files_open_with_a_reason(self, name: str) -> None:
        """Whoever wonders why a set looks as it does finds the answer, and the vendor's guide, on its first line."""
        for file in FILES:
            path = root() / name / file
            if path.is_file():
                assert re.match(r"\{# [A-Z].{40,}?\. ?#\}\n", path.read_text(encoding="utf-8"), re.DOTALL), path
                path_default = root() / "default" / file
                assert name == "default" or path.read_bytes() != path_default.read_bytes()
        settings = root() / name / "set.toml"
        if settings.is_file():
            assert settings.read_text(encoding="utf-8").startswith("# ")
            assert tomllib.loads(settings.read_text(encoding="utf-8"))

    def test_no_chat_markers(self, name: str) -> None:
        """The provider's chat template writes those; a set that prints them forges roles."""
        text = "".join(text for _, text in TemplateSet.named(name).files())
        assert not [marker for marker in load() if marker in text]

    def test_what_is_said_of_silence_is_understood(self, name: str) -> None:
        """A set that tells the model how to refuse must use words that the check of the answer takes for a refusal."""
        system = TemplateSet.named(name).system
        for words in re.findall(r"say that (the (?:sources|documents) do not contain it)", system):
            sentence = words[0].upper() + words[1:] + "."
            assert is_refusal(sentence)
            assert render(name).verify(sentence).ok


def made_label(payload: Payload, chunk: str) -> str:
    return next(one.label for one in payload.sources if chunk in one.chunk_ids)


class TestForms:
    """What the vendors' guides ask for."""

    def test_claude(self) -> None:
        text = render("claude").messages[-1].text
        assert text.startswith('<documents>\n<document index="1">\n<source>S1 | chunk: a#1 | title: A & B | ')
        assert text.count("<document_content>\n") == text.count("\n</document_content>\n</document>") == 3
        assert text.endswith("</documents>\n\n<question>What is first?</question>")

    @pytest.mark.parametrize("name", ["claude-native", "command", "granite"])
    def test_native_titles_open_with_the_label(self, name: str) -> None:
        text = render(name).messages[-1].text
        assert re.search(r'title(?:=")?(?:: )?S1: A & B', text)
        assert text.endswith("\n\nWhat is first?")

    def test_gpt_repeats_the_rules_after_long_sources(self) -> None:
        """By the characters of the passages, so that the same payload has them or not on every machine."""
        short = render("gpt").messages[-1].text
        assert short == render("default").messages[-1].text

        def sent(size: int) -> str:
            return render("gpt", [Source("a", "x" * size, 1.0)]).messages[-1].text

        frame = len('<source_1 id="S1" chunk="a">\n\n</source_1>')
        assert "Remember" not in sent(LONG - frame - 1)
        long = sent(LONG - frame)
        assert long.index("x") < long.index("Remember") < long.index(QUESTION)
        assert "[S1]" in long

    def test_gpt_keeps_room_for_its_rules(self) -> None:
        """What comes on top when the sources turn out long is set aside before: the payload fits whatever is packed."""
        hits = [Source(f"x{i}", f"Passage {i} of words. " * 40, 1 / (i + 1)) for i in range(40)]
        for window in (1200, 2400, 3000, 3050, 3100, 3200, 6000):
            made = PromptBuilder(window, template="gpt").add_sources(hits).with_question(QUESTION).render()
            assert made.tokens <= made.budget.input
            assert made.sources

    @pytest.mark.parametrize("name", ["deepseek", "gemma"])
    def test_no_system_message_without_a_persona(self, name: str) -> None:
        made = render(name)
        assert [one.role for one in made.messages] == ["user"]
        assert "Cite them like [S1]" in made.text

    def test_openai_cite(self) -> None:
        made = render("openai-cite")
        assert made.messages[-1].text.startswith(
            "<sources>\n<source_1>\nCitation Marker: \ue200cite\ue202S1\ue201\nchunk: a#1\ntitle: A & B\n"
        )
        assert "\ue200cite\ue202S1\ue202S2\ue201" in made.messages[0].text

    def test_json(self) -> None:
        passages, _, question = render("json").messages[-1].text.partition("\n\n")
        lines = [json.loads(line) for line in passages.splitlines()]
        assert [(one["label"], one["text"]) for one in lines] == [
            (one.label, one.text) for one in render("json").sources
        ]
        assert question == QUESTION
