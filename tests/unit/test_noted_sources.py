"""What a payload notes on its sources, for the next one: it must never be seen in a result."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from time import sleep

import numpy as np
import pytest

from promptpack import Packing, PromptBuilder, Source, SourceError, TemplateSet
from promptpack.escape import Rules, escape_text
from promptpack.forms import Form, Forms
from promptpack.labels import Labels
from promptpack.shape import Hole
from promptpack.tokens import counter
from promptpack.tokens.memo import Memo

SOURCES = [
    Source("a#1", "Returns are free for 30 days.", 0.9, updated="2026-01-02", metadata={"title": "Returns", "page": 3}),
    Source("b#1", "See [S1], or <source_1> & more.", 0.8, metadata={"title": "A <b> title"}),
    Source("c#1", "Shipping takes three days, as a rule; longer at Christmas.", 0.7, metadata={"section": "Ways"}),
    Source("d#1", "A last one that says little. " * 30, 0.6),
]


def bare() -> list[Source]:
    """The same sources, without notes."""
    return [replace(source) for source in SOURCES]


def built(sources: list[Source], **options: object) -> PromptBuilder:
    return PromptBuilder(900, **options).add_sources(sources).with_question("How long?")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {}, {"escape": "strict"}, {"escape": "html"}, {"template": "markdown"}, {"fields": ("title", "page")},
        {"counter": "cl100k_base"}, {"counter": len}, {"labels": Labels("D")},
        {"labels": Labels().assign([("x",), ("c#1",)]).carry()},
    ],
    ids=str,
)
def test_other_settings_find_nothing_that_is_not_theirs(options):
    """A source that was prepared for other rules, fields or labels would be sent under those."""
    used = bare()
    built(used).render()
    built(used, **options).render()
    assert built(used, **options).render().to_dict() == built(bare(), **options).render().to_dict()
    assert built(used).render().to_dict() == built(bare()).render().to_dict()


def test_metadata_that_is_changed_in_place_is_seen():
    """The old title would be sent for ever."""
    used = bare()
    built(used).render()
    used[0].metadata["title"] = "Refunds"
    assert 'title="Refunds"' in built(used).render().text


def test_a_list_that_grows_is_seen():
    """A value that can change without being another one must not be relied on."""
    fields = ("title", "tags")
    used = [Source("a", "Some text.", 0.5, metadata={"tags": 1.5, "title": True})]
    first = built(used, fields=fields).render()
    assert built(used, fields=fields).render().text == first.text


def test_notes_are_no_part_of_a_source():
    """Copies, comparisons and pickles would carry them along, or fail."""
    used = bare()
    payload = built(used).render()
    assert used == bare()
    assert repr(used[0]) == repr(bare()[0])
    for made in (copy.copy(used[0]), copy.deepcopy(used[0]), pickle.loads(pickle.dumps(used[0])), replace(used[0])):
        assert made == used[0]
        assert built([made, *used[1:]]).render().text == payload.text
    assert len(pickle.dumps(used[0])) == len(pickle.dumps(bare()[0]))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [(1, True, "true"), (10**16, 1e16, "1e+16"), (0.5, Decimal("0.50"), "0.50"), ("x", np.array([1, 2]), None)],
    ids=str,
)
def test_a_value_that_is_equal_and_not_shown_alike_is_seen(old, new, shown):
    """The old value would be sent, or comparing the two would fail with an error that is not ours."""
    used = [Source("a", "Some text.", 0.5, metadata={"title": old})]
    built(used).render()
    used[0].metadata["title"] = new
    if shown is None:
        with pytest.raises(SourceError, match="field title"):
            built(used).render()
    else:
        assert f'title="{shown}"' in built(used).render().text


@pytest.mark.parametrize("source", ["{{ label }} ---\n{{ text }}\n---", "<source_{{ n }}>\n{{ text }}\nend"])
def test_the_account_is_that_of_a_first_payload(source):
    """What stands around the texts would be other tokens where a wider window had counted them first."""
    options = {"template": TemplateSet.from_string(source=source), "packing": Packing(select="top")}
    used = [Source("big", "A text that is far too long. " * 900, 1.0), *bare()]
    built(used, **options).with_window(30_000).render()
    first = built([replace(one) for one in used], **options).render()
    assert len(first.sources) == 4
    assert built(used, **options).render().budget == first.budget


def test_what_is_dropped_is_told_as_in_a_first_payload():
    """The size of a source that is dropped would be exact after other payloads, and a bound before them.

    With a required source and a history a payload is packed twice: what is asked in between must not show.
    """
    odd = Source("odd", "Donaudampfschifffahrtsgesellschaft " * 120, 0.5)
    used = [Source("must", "Read this.", 0.9, required=True), odd, Source("c", "Other words here. " * 9, 0.4)]
    history = [("user", "Hello there?"), ("assistant", "Yes.")]
    built(used).with_window(9000).render()
    told = set()
    for window in range(240, 400, 4):
        first, again = (
            built(sources, packing=Packing(select="top")).add_history(history).with_window(window).render()
            for sources in ([replace(one) for one in used], used)
        )
        assert again.to_dict() == first.to_dict()
        told |= {one.detail for one in first.dropped}
    assert any("at least" in detail for detail in told)


def test_threads_with_other_settings_do_not_meet():
    """Two users of one store of sources would get each other's escaping, or an error out of a shared table."""
    used = bare()
    kinds: list[dict[str, object]] = [
        {}, {"escape": "html"}, {"counter": "cl100k_base"}, {"fields": "auto"}, {"template": "claude"},
    ]
    wanted = [built(bare(), **options).render().to_dict() for options in kinds]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda at: built(used, **kinds[at % 5]).render().to_dict(), range(100)))
    assert all(payload == wanted[at % 5] for at, payload in enumerate(made))


def test_what_is_kept_with_a_set_may_be_forgotten_at_any_moment():
    """Another thread that fills the table, between a look and the next one, would make a bare KeyError."""
    compiled = TemplateSet.from_string(source="{{ label }} {{ text }}").compiled()

    class Crowded(dict):
        def __contains__(self, key):
            found = super().__contains__(key)
            if key == ("mine",) and found:
                for number in range(70):
                    compiled.kept((number,), dict)
            return found

    compiled._kept = Crowded({("mine",): "kept"})
    assert compiled.kept(("mine",), str) == "kept"


def test_a_text_that_knows_how_it_was_escaped_is_not_taken_for_an_equal_one():
    """Spans send its plain copy, escaped as any text; the note of that would change what is sent of the text itself."""
    text = escape_text("First </source_1> sentence, long enough to be one. Then &lt; with [S1]. A third.", Rules())
    used = [Source("a", text, 0.9)]
    first = built([replace(one) for one in used]).with_question("sentence?").render()
    built(used, packing=Packing(select="spans")).with_question("sentence?").render()
    assert built(used).with_question("sentence?").render().to_dict() == first.to_dict()


def test_a_text_of_a_type_of_its_own_is_not_printed_in_its_own_way():
    """Where an equal text was counted before, `str()` of an enum's member would be sent: not the text, not escaped."""

    class Kind(str):
        def __str__(self) -> str:
            return "</source_1> [S1]"

    text = "Returns are free for 30 days, whoever asks."
    used = [Source("a", text, 0.9), Source("b", Kind(text), 0.8)]
    packing = Packing(select="top", dedup="off")
    first = built([Source("b", Kind(text), 0.8)], packing=packing).render()
    both = built(used, packing=packing).render()
    again = built([Source("b", Kind(text), 0.8)], packing=packing).render()
    assert again.to_dict() == first.to_dict()
    assert both.text.count(text) == 2
    assert "</source_1> [S1]" not in both.text


def test_forms_may_be_added_while_others_are_looked_through():
    """Two threads that meet fields for the first time would end in a RuntimeError that is not ours."""
    compiled = TemplateSet.from_string(source="{{ label }} {{ source.title }}\n{{ text }}").compiled()
    forms = Forms(compiled, ("title",), "S", counter("o200k_base"))
    made = forms._made

    class Crowding:
        columnar = True

        def body(self, text: str) -> str:
            made[f"another {len(made)}",] = made[()]  # what another thread does just now
            return text

    made[()] = Form((), None, Crowding(), Memo())  # type: ignore[arg-type]
    assert forms(("title",)).names == ("title",)


def test_two_threads_may_learn_a_template_at_once():
    """One would end in "Set changed size during iteration", or what it found unsafe would be forgotten."""
    compiled = TemplateSet.from_string(source="{{ label }}\n{{ text }}").compiled()
    inside, most = 0, 0
    look = compiled._look_at_seams

    def watched(name, shape):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        sleep(0.01)
        look(name, shape)
        inside -= 1

    compiled._look_at_seams = watched
    holes = {"n": Hole("n"), "label": Hole("label"), "text": Hole("text"), "attributes": ()}
    with ThreadPoolExecutor(4) as pool:
        shapes = list(pool.map(lambda at: compiled.shape("source.j2", (at,), lambda: holes), range(8)))
    assert len(set(shapes)) == 1
    assert most == 1
