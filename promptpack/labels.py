"""Labels: the short names S1..Sn of the passages, the same for a whole conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpack.errors import OptionError, quote

LAST = 9999  # a citation has at most four digits (promptpack.citations), so a label has, too
_PREFIX = re.compile(r"[A-Za-z]{1,12}\Z")


@dataclass(frozen=True, slots=True)
class Labels(Mapping[str, tuple[str, ...]]):
    """The label map of a conversation: which label stands for which chunk ids.

    As a mapping it holds the labels that are sent in this turn, in prompt order, each with the ids of
    the chunks that its passage is made of (several where chunks were merged). `carried` holds every label that the
    conversation has given so far; those keep their passage, and new passages continue the count. A passage is told by
    which ids it has; their order, that of the ranking, is not part of it.

    Raises OptionError where the prefix is not 1 to 12 ASCII letters, a carried label does not fit the prefix,
    two labels stand for the same passage, or a label is sent twice.

    >>> first = Labels().assign([("a",), ("b",)])
    >>> dict(first)
    {'S1': ('a',), 'S2': ('b',)}
    >>> second = first.carry().assign([("c",), ("b",)])
    >>> dict(second)
    {'S3': ('c',), 'S2': ('b',)}
    """

    prefix: str = "S"
    carried: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    sent: tuple[str, ...] = ()
    _sent: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.prefix, str) or not _PREFIX.match(self.prefix):
            raise OptionError(
                f"labels: the prefix has 1 to 12 ASCII letters, got {quote(self.prefix)}",
                name="prefix", given=self.prefix,
            )
        if not isinstance(self.carried, Mapping):
            raise OptionError(
                f"labels: carried is a mapping of label to chunk ids, got {quote(self.carried)}",
                name="carried", given=self.carried,
            )
        plain: dict[str, tuple[str, ...]] = {}
        seen: dict[frozenset[str], str] = {}
        for label, ids in self.carried.items():
            number(label, self.prefix)
            chunk_ids = _chunk_ids(ids, label)
            passage = frozenset(chunk_ids)
            if passage in seen:
                raise OptionError(
                    f"labels: {seen[passage]} and {label} stand for the same chunk {quote(chunk_ids[0])}",
                    name="carried", given=label,
                )
            seen[passage] = label
            plain[label] = chunk_ids
        if not isinstance(self.sent, list | tuple):
            raise OptionError(
                f"labels: sent is a tuple of labels, got {quote(self.sent)}", name="sent", given=self.sent
            )
        for label in self.sent:
            if not isinstance(label, str) or label not in plain:
                raise OptionError(f"labels: {quote(label)} is sent but not carried", name="sent", given=label)
        object.__setattr__(self, "carried", plain)
        object.__setattr__(self, "sent", tuple(self.sent))
        object.__setattr__(self, "_sent", frozenset(self.sent))
        if len(self._sent) != len(self.sent):
            raise OptionError("labels: a label is sent twice", name="sent", given=self.sent)

    def __getitem__(self, label: str) -> tuple[str, ...]:
        if label in self._sent:
            return self.carried[label]
        raise KeyError(label)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sent)

    def __len__(self) -> int:
        return len(self.sent)

    @property
    def highest(self) -> int:
        """The largest number given so far; 0 where there is none."""
        return max([number(label, self.prefix) for label in self.carried], default=0) if self.carried else 0

    @property
    def stale(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of earlier turns that are not sent in this one."""
        return {label: ids for label, ids in self.carried.items() if label not in self._sent}

    def known(self) -> Mapping[tuple[str, ...], int]:
        """The number that each passage of the conversation has, by its chunk ids."""
        return {ids: number(label, self.prefix) for label, ids in self.carried.items()}

    def assign(self, passages: Sequence[Sequence[str]]) -> Labels:
        """Return the map for a turn that sends these passages (each its chunk ids), in prompt order.

        A passage that has a label keeps it, also where other passages of the turn are new.
        Raises OptionError where the count passes 9999, the last label that a citation can name, and where a passage
        occurs twice or has no ids.
        """
        listed = type(passages) is list or isinstance(passages, Sequence)  # an abstract class is slow to ask
        if isinstance(passages, str) or not listed:
            raise OptionError(
                f"labels: expected a list of passages, got {quote(passages)}", name="passages", given=passages
            )
        if not self.carried and _are_new(passages):  # the usual case, without the checks of each
            first = tuple([f"{self.prefix}{count}" for count in range(1, len(passages) + 1)])
            return _made(self.prefix, dict(zip(first, map(tuple, passages), strict=True)), first)
        carried = dict(self.carried)
        # Chunks that were merged are the same passage whichever of them ranks first.
        known: dict[str | frozenset[str], str] = {_passage(ids): label for label, ids in carried.items()}
        count = self.highest
        sent = []
        prefix = self.prefix
        key: str | frozenset[str]
        ids: tuple[str, ...]
        for passage in passages:
            if type(passage) is tuple and len(passage) == 1 and type(passage[0]) is str:
                key, ids = passage[0], passage  # the usual case, without the checks
            else:
                ids = _chunk_ids(passage, "a passage")
                key = _passage(ids)
            label = known.get(key)
            if label is None:
                count += 1
                label = known[key] = f"{prefix}{count}"
                carried[label] = ids
            sent.append(label)
        if count > LAST:
            raise OptionError(
                f"labels: {count} passages in one conversation; labels end at {self.prefix}{LAST}. "
                "Send fewer sources (top_k) or start a new conversation.",
                name="labels", given=count,
            )
        labels = _made(self.prefix, carried, tuple(sent))
        if len(labels._sent) != len(sent):
            raise OptionError("labels: a passage occurs twice in one turn", name="passages", given=None)
        return labels

    def carry(self) -> Labels:
        """Return the map for the next turn: every label carried, none sent yet."""
        return _made(self.prefix, dict(self.carried), ())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: prefix, carried (label to list of ids), sent (list of labels)."""
        carried = {label: list(ids) for label, ids in self.carried.items()}
        return {"prefix": self.prefix, "carried": carried, "sent": list(self.sent)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Labels:
        """Read what `to_dict` wrote; raises OptionError where it does not fit.

        >>> Labels.from_dict(Labels().assign([("a",)]).to_dict())["S1"]
        ('a',)
        """
        if not isinstance(data, Mapping):
            raise OptionError(f"labels: expected a mapping, got {quote(data)}", name="labels", given=data)
        return cls(data.get("prefix", "S"), data.get("carried", {}), data.get("sent", ()))


def number(label: str, prefix: str) -> int:
    """Return the number of a label; OptionError where it is not the prefix and 1 to 4 digits.

    >>> number("S12", "S")
    12
    """
    digits = label[len(prefix):] if isinstance(label, str) and label.startswith(prefix) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 4 and digits[0] != "0"):
        raise OptionError(
            f"labels: expected {prefix}1 to {prefix}{LAST}, got {quote(label)}", name="label", given=label
        )
    return int(digits)


def prefix_of(label: str) -> str:
    """Return what stands before the number of a label.

    >>> prefix_of("S12")
    'S'
    """
    return label.rstrip("0123456789")


def _chunk_ids(ids: object, owner: str) -> tuple[str, ...]:
    """Return chunk ids as a tuple; a single text is one id, and a set is refused since it has no order."""
    chunk_ids = (ids,) if isinstance(ids, str) else tuple(ids) if isinstance(ids, list | tuple) else ()
    if not chunk_ids or not all(isinstance(one, str) for one in chunk_ids):
        raise OptionError(
            f"labels: {owner} has to stand for one or more chunk ids, got {quote(ids)}", name="carried", given=ids
        )
    return chunk_ids


def _are_new(passages: Sequence[Sequence[str]]) -> bool:
    """Tell, quickly, that each passage is a tuple of one id, and none is there twice or too many."""
    if len(passages) > LAST or set(map(type, passages)) != {tuple} or set(map(len, passages)) != {1}:
        return False
    ids = [passage[0] for passage in passages]
    return set(map(type, ids)) == {str} and len(set(ids)) == len(ids)


def _passage(ids: tuple[str, ...]) -> str | frozenset[str]:
    """Return what tells a passage from others: its ids in any order, or the only one."""
    distinct = frozenset(ids)
    return distinct if len(distinct) > 1 else ids[0]


def _made(prefix: str, carried: dict[str, tuple[str, ...]], sent: tuple[str, ...]) -> Labels:
    # The parts are known to be right here; the checks of the constructor would cost more than the payload.
    labels = object.__new__(Labels)
    object.__setattr__(labels, "prefix", prefix)
    object.__setattr__(labels, "carried", carried)
    object.__setattr__(labels, "sent", sent)
    object.__setattr__(labels, "_sent", frozenset(sent))
    return labels
