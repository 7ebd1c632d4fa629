"""The errors: what they say, and that they survive pickling and copying with every field."""

from __future__ import annotations

import copy
import pickle
import threading
from decimal import Decimal

import pytest

from promptpack import errors
from promptpack.errors import (
    BudgetError,
    CitationError,
    DuplicateIdError,
    OptionError,
    PromptpackError,
    RerankError,
    SourceError,
    TemplateLookupError,
    TemplateRenderError,
    TokenizerError,
    quote,
)

ALL = [
    (PromptpackError("m"), Exception, {}),
    (SourceError("m", id="a", index=3, field="text"), ValueError, {"id": "a", "index": 3, "field": "text"}),
    (DuplicateIdError("m", id="a", index=1, field="id"), ValueError, {"id": "a", "index": 1, "field": "id"}),
    (
        OptionError("m", name="place", given=5, known=["x", "y"]),
        ValueError,
        {"name": "place", "given": 5, "known": ("x", "y")},
    ),
    (
        BudgetError("m", budget=(1, 2), needed=7, partial=[1]),
        ValueError,
        {"budget": (1, 2), "needed": 7, "partial": [1]},
    ),
    (TokenizerError("m", name="words"), RuntimeError, {"name": "words"}),
    (
        TemplateLookupError("m", name="x", known=["a"], searched=["b"]),
        LookupError,
        {"name": "x", "given": "x", "known": ("a",), "searched": ("b",)},
    ),
    (TemplateRenderError("m", template="t/user.j2", lineno=4), ValueError, {"template": "t/user.j2", "lineno": 4}),
    (RerankError("m"), RuntimeError, {}),
    (CitationError("m", verification={"ok": False}), ValueError, {"verification": {"ok": False}}),
]
NAMES = [type(error).__name__ for error, _, _ in ALL]


def test_every_error_of_the_module_is_in_the_table() -> None:
    """Fails where an error class is added without the checks below."""
    made = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, PromptpackError)}
    assert made == set(NAMES)


@pytest.mark.parametrize(("error", "builtin", "fields"), ALL, ids=NAMES)
def test_errors_are_the_builtin_that_callers_expect(
    error: PromptpackError, builtin: type[Exception], fields: dict[str, object]
) -> None:
    assert isinstance(error, builtin)
    assert isinstance(error, PromptpackError)
    assert {name: getattr(error, name) for name in fields} == fields


@pytest.mark.parametrize(
    "way",
    [
        *(
            lambda error, p=protocol: pickle.loads(pickle.dumps(error, p))
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
        ),
        copy.copy,
        copy.deepcopy,
    ],
)
@pytest.mark.parametrize(("error", "builtin", "fields"), ALL, ids=NAMES)
def test_errors_come_back_whole(error: PromptpackError, builtin: type, fields: dict[str, object], way: object) -> None:
    """A process pool would show "missing 1 required keyword-only argument" instead of the error."""
    again = way(error)  # type: ignore[operator]
    assert type(again) is type(error)
    assert str(again) == str(error) == "m"
    assert {name: getattr(again, name) for name in fields} == fields


def test_what_cannot_be_pickled_does_not_hide_the_error() -> None:
    lock = threading.Lock()
    error = OptionError.unknown("escape", lock, ["tags"])
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.given == "a value of type lock"
    assert copy.copy(error).given is lock
    assert copy.deepcopy(error).given is lock


def test_notes_of_an_error_are_kept() -> None:
    error = SourceError("m", index=2)
    error.add_note("seen while reading a.jsonl")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["seen while reading a.jsonl"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        (True, "True"),
        (3, "3"),
        (-2.5, "-2.5"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        ("a", "'a'"),
        ("", "''"),
        ("a\x00\n", "'a\\x00\\n'"),
        ("\ud800", "'\\ud800'"),
        ("it's", '"it\'s"'),
        (10**5000, "a very large integer"),
        (-(10**5000), "a very large integer"),
        (b"abc", "a value of type bytes"),
        (Decimal("1"), "a value of type Decimal"),
        ([1], "a value of type list"),
        (object, "a value of type type"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_quote(value: object, shown: str) -> None:
    assert quote(value) == shown


def test_quote_is_short_and_can_be_encoded() -> None:
    for text in ("x" * 10**6, "\ud83d" * 500, "\x00" * 500, "'\"" * 100):
        line = quote(text)
        line.encode("utf-8")
        assert "\n" not in line
        assert len(line) <= 80 * 10 + 5  # a character takes at most ten: \U0001f600
        assert line[:-1].endswith("...")


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("fild", "did you mean 'fold'?"),
        ("FOLD", "did you mean 'fold'?"),
        ("zzz", None),
        (5, None),
        (None, None),
        ("x" * 10**6, None),
        ("\ud800", None),
        ("", None),
    ],
    ids=lambda one: type(one).__name__,
)
def test_unknown_names_the_choices(given: object, hint: str | None) -> None:
    error = OptionError.unknown("place", given, ("fold", "best_first"))
    assert error.name == "place"
    assert error.given == given
    assert error.known == ("best_first", "fold")
    assert str(error).endswith("Known: best_first, fold")
    assert (hint in str(error)) if hint else ("did you mean" not in str(error))
    assert len(str(error)) < 300
