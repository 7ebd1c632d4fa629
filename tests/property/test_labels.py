"""Labels over whole conversations: one name for one passage, for good."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpack.labels import Labels

# Which ids a passage has tells it apart, not their order (that of the ranking), so here they are sorted.
IDS = st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=3).map(lambda ids: tuple(sorted(ids)))
PASSAGES = st.lists(IDS, max_size=8, unique=True)


@given(turns=st.lists(PASSAGES, max_size=8), prefix=st.sampled_from(["S", "Doc", "x"]))
def test_a_name_never_changes_its_passage(turns: list[list[tuple[str, ...]]], prefix: str) -> None:
    """A renamed label makes every earlier citation of the conversation wrong."""
    labels = Labels(prefix)
    ever: dict[str, tuple[str, ...]] = {}
    for passages in turns:
        labels = labels.carry().assign(passages)
        assert list(labels.values()) == passages  # in prompt order
        for label, ids in labels.items():
            assert ever.setdefault(label, ids) == ids
        assert dict(labels.carried) == ever
        assert len(set(ever.values())) == len(ever)  # both ways
        assert sorted(ever, key=lambda label: int(label[len(prefix) :])) == [
            f"{prefix}{n}"
            for n in range(1, len(ever) + 1)  # no number is left out
        ]
        assert set(labels.stale) | set(labels) == set(ever)
        assert not set(labels.stale) & set(labels)
        assert Labels.from_dict(labels.to_dict()) == labels
        assert labels.highest == len(ever)


@given(first=PASSAGES, second=PASSAGES)
def test_a_turn_depends_on_what_is_carried_and_nothing_else(
    first: list[tuple[str, ...]], second: list[tuple[str, ...]]
) -> None:
    once = Labels().assign(first).carry()
    assert once.assign(second) == Labels.from_dict(once.to_dict()).assign(second)
    assert Labels(carried=once.carried).assign(second) == once.assign(second)
