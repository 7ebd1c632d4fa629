"""A source is a value: what it was made of can change without changing it."""

from __future__ import annotations

import numpy as np
import pytest

from promptpack import Cut, OptionError, PromptBuilder, Source, TokenizerError


def test_metadata_is_copied() -> None:
    """Otherwise the same builder would render other bytes once a caller reuses a dictionary."""
    shown = {"title": "One"}
    builder = PromptBuilder(2000, counter="words").add_sources([Source("a", "Text.", metadata=shown)])
    before = builder.render()
    shown["title"] = "Two"
    assert builder.render() == before


@pytest.mark.parametrize("settings", [{"keep": np.array([1, 2])}, {"at": np.array([1, 2])}, {"keep": None}, {"at": 3}])
def test_cuts_of_a_wrong_type_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        Cut(**settings)  # type: ignore[arg-type]


def test_a_counter_that_gives_an_array_is_refused() -> None:
    with pytest.raises(TokenizerError):
        PromptBuilder(2000, counter=lambda text: np.array([1, 2])).add_sources(["x"]).render()  # type: ignore[arg-type]
