"""Overlapping and adjacent chunks of one document become one source.

Splitters repeat the end of a chunk at the start of the next one. Two such neighbours cost the overlap
twice and read worse than the passage that they were cut from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from promptpack.errors import quote
from promptpack.packing.candidate import Candidate, Dropped, DropReason

# Shorter agreements of an end and a beginning (characters) are chance: "of the".
MIN_OVERLAP = 12
# Splitters strip the white space between chunks: offsets so far apart (characters) still touch, and
# a blank or a blank line stands for what was stripped.
_FILLERS = {0: "", 1: " ", 2: "\n\n"}
# Beginnings shared by more chunks of one document than this (a running header) say nothing about order,
# and would make the search quadratic.
_COMMON_BEGINNING = 16

_PAGES = ("page", "pages", "page_number", "page_label")
_FIRST_PAGES = ("page_start", "start_page", "first_page")
_LAST_PAGES = ("page_end", "end_page", "last_page")


@dataclass(slots=True)
class _Piece:
    """A run of chunks: its text in parts, its members in the order of the document."""

    parts: list[str]
    members: list[int]
    anchored: bool = False
    hosted: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0]


def merge(candidates: Sequence[Candidate], notes: list[str]) -> tuple[list[Candidate], list[Dropped]]:
    """Return the candidates with chunks of one document stitched, and the members that went into others.

    Chunks are of one document if their `document` is equal (None never is). Two are stitched where their
    offsets overlap and the texts agree there, or lie at most two characters apart; offsets count only if
    `end - start` is the length of the text. Without such offsets an end of one and a beginning of the other
    must agree in at least 12 characters (the longest agreement counts), or one text must contain the other;
    a smaller `position` never comes second. The merged text contains the text of each member. It is sent for
    the best ranked of them, with its rank and score, the ids of all, and the pages of all; it is required if
    one of them is. Members that went into another are Dropped with reason `merged`.

    Linear in the length of the texts, but for sorting.

    >>> from promptpack.source import Source
    >>> a = Source("d#0", "Wash the filters. Switch off the pump.", document="d")
    >>> b = Source("d#1", "Switch off the pump. Check gauge B.", document="d")
    >>> kept, gone = merge([Candidate.of(a, 0, 1), Candidate.of(b, 1, 2)], [])
    >>> kept[0].text, kept[0].chunk_ids, gone[0].of
    ('Wash the filters. Switch off the pump. Check gauge B.', ('d#0', 'd#1'), 'd#0')
    """
    documents: dict[str, list[int]] = defaultdict(list)
    for at, candidate in enumerate(candidates):
        if candidate.source.document is not None and candidate.text:
            documents[candidate.source.document].append(at)
    result: dict[int, Candidate] = {}
    gone: dict[int, Dropped] = {}
    for document, members in documents.items():
        if len(members) == 1:
            continue
        for piece in _by_overlap(_by_offsets(candidates, members), candidates):
            if len(piece.members) == 1:
                continue
            best = min(piece.members, key=lambda at: candidates[at].rank)
            result[best] = _merged(candidates, piece, best)
            gone.update((at, _gone(candidates[at], result[best])) for at in piece.members if at != best)
            into = quote(candidates[best].source.id)
            notes.append(f"merged {len(piece.members)} chunks of {quote(document)} into {into}")
    kept = [result.get(at, candidate) for at, candidate in enumerate(candidates) if at not in gone]
    return kept, [gone[at] for at in sorted(gone)]


def _by_offsets(candidates: Sequence[Candidate], members: list[int]) -> list[_Piece]:
    """Return the chunks of a document with those stitched whose offsets touch and whose texts agree there."""
    pieces: list[_Piece] = []
    offsets = {at: span for at in members if (span := _offsets(candidates[at])) is not None}
    for at in members:
        if at not in offsets:
            pieces.append(_Piece([candidates[at].text], [at]))
    run: _Piece | None = None
    far = -1  # the member of the run that reaches furthest: it covers all that a later one overlaps
    for at in sorted(offsets, key=lambda at: (offsets[at][0], -offsets[at][1], candidates[at].rank)):
        text, (start, end) = candidates[at].text, offsets[at]
        if run is not None:
            far_start, far_end = offsets[far]
            shared = candidates[far].text[start - far_start : end - far_start]
            if start - far_end in _FILLERS or (start < far_end and text.startswith(shared)):
                run.parts.append(_FILLERS.get(start - far_end, "") + text[max(0, far_end - start) :])
                run.members.append(at)
                far = at if end > far_end else far
                continue
        run, far = _Piece([text], [at], anchored=True), at
        pieces.append(run)
    return pieces


def _offsets(candidate: Candidate) -> tuple[int, int] | None:
    start, end = candidate.source.start, candidate.source.end
    if start is None or end is None or end - start != len(candidate.text):
        return None
    return start, end


def _by_overlap(pieces: list[_Piece], candidates: Sequence[Candidate]) -> list[_Piece]:
    """Return the pieces with those stitched of which one ends as the other begins, or contains it."""
    links, hosts = [], []
    for left, right in _meetings(pieces):
        a, b = pieces[left].text, pieces[right].text
        if b in a:
            hosts.append((len(a), left, right))
        elif _in_order(candidates[pieces[left].members[-1]], candidates[pieces[right].members[0]]):
            length = overlap(a, b)
            if length:
                links.append((length, left, right))
    root = list(range(len(pieces)))

    def find(at: int) -> int:
        while root[at] != at:
            root[at] = root[root[at]]
            at = root[at]
        return at

    inside: set[int] = set()
    for _, host, part in sorted(hosts, key=lambda link: (-link[0], link[1], link[2])):
        if part not in inside and find(host) != find(part):
            inside.add(part)
            root[find(part)] = find(host)
            pieces[host].hosted.append(part)
    follows: dict[int, tuple[int, int]] = {}
    second: set[int] = set()
    for length, left, right in sorted(links, key=lambda link: (-link[0], link[1], link[2])):
        free = left not in follows and right not in second and not inside & {left, right}
        if free and find(left) != find(right):
            follows[left] = (right, length)
            second.add(right)
            root[find(right)] = find(left)
    return [_chain(pieces, at, follows) for at in range(len(pieces)) if at not in inside and at not in second]


def _meetings(pieces: list[_Piece]) -> list[tuple[int, int]]:
    """Return the pairs (left, right) where the beginning of right occurs in left.

    Pairs with offsets on both sides are left out: their offsets have settled it.
    """
    beginnings: dict[str, list[int]] = defaultdict(list)
    for at, piece in enumerate(pieces):
        if len(piece.text) >= MIN_OVERLAP:
            beginnings[piece.text[:MIN_OVERLAP]].append(at)
    found: dict[tuple[int, int], None] = {}
    for left, piece in enumerate(pieces):
        text = piece.text
        for start in range(len(text) - MIN_OVERLAP + 1):
            rights = beginnings.get(text[start : start + MIN_OVERLAP])
            if rights is None or len(rights) > _COMMON_BEGINNING:
                continue
            for right in rights:
                if right != left and not (piece.anchored and pieces[right].anchored):
                    found[left, right] = None
    return list(found)


def _in_order(left: Candidate, right: Candidate) -> bool:
    a, b = left.source.position, right.source.position
    return a is None or b is None or a <= b


def overlap(left: str, right: str, minimum: int = MIN_OVERLAP) -> int:
    """Return the length of the longest end of `left` that is a beginning of `right`, 0 if below `minimum`.

    Linear time, by the prefix function of Knuth, Morris and Pratt.

    >>> overlap("Switch off the pump.", "off the pump. Check it.")
    13
    """
    tail = left[max(0, len(left) - len(right)) :]
    at = tail.find(right[:minimum]) if len(right) >= minimum else -1
    for _ in range(8):  # mostly the first place is the right one; looking there costs next to nothing
        if at < 0:
            return 0
        if right.startswith(tail[at:]):
            return len(tail) - at if len(tail) - at >= minimum else 0
        at = tail.find(right[:minimum], at + 1)
    tail = tail[at:] if at >= 0 else ""
    # border[k]: the length of the longest proper beginning of right[: k + 1] that also ends it
    border = [0] * len(right)
    k = 0
    for at in range(1, len(right)):
        while k and right[at] != right[k]:
            k = border[k - 1]
        k += right[at] == right[k]
        border[at] = k
    k = 0
    for char in tail:
        while k and (k == len(right) or char != right[k]):
            k = border[k - 1]
        k += char == right[k]
    return k if k >= minimum else 0


def _chain(pieces: list[_Piece], first: int, follows: Mapping[int, tuple[int, int]]) -> _Piece:
    """Return the piece that starts with `first`, with all that follows and all that is inside."""
    parts, members = [pieces[first].text], _all_members(pieces, first)
    at = first
    while at in follows:
        at, shared = follows[at]
        parts.append(pieces[at].text[shared:])
        members += _all_members(pieces, at)
    return _Piece(parts, members)


def _all_members(pieces: list[_Piece], at: int) -> list[int]:
    members, waiting = [], [at]
    while waiting:
        piece = pieces[waiting.pop()]
        members += piece.members
        waiting += reversed(piece.hosted)
    return members


def _merged(candidates: Sequence[Candidate], piece: _Piece, best: int) -> Candidate:
    own = candidates[best]
    others = [candidates[at] for at in piece.members]
    sources = [candidate.source for candidate in others]
    source = own.source
    changes: dict[str, Any] = {
        "required": any(s.required for s in sources), "pinned": any(s.pinned for s in sources),
        "priority": max(s.priority for s in sources),
        "metadata": _pages(source.metadata, [s.metadata for s in sources]),
    }
    if any(getattr(source, name) != value for name, value in changes.items()):
        source = replace(source, **changes)
    ids = dict.fromkeys([*own.chunk_ids, *(id_ for candidate in others for id_ in candidate.chunk_ids)])
    values = [candidate.value for candidate in others if candidate.value is not None]
    return replace(
        own, source=source, text=piece.text, chunk_ids=tuple(ids), value=max(values) if values else own.value
    )


def _gone(candidate: Candidate, into: Candidate) -> Dropped:
    detail = f"its text is part of {quote(into.source.id)}, under the same label"
    return Dropped(candidate.source, into.rank, None, DropReason.MERGED, "dedup", detail, into.source.id)


def _pages(own: Mapping[str, Any], all_: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the metadata of the best member with the page fields covering all members."""
    joined: dict[str, Any] = {}
    for name in (*_PAGES, *_FIRST_PAGES, *_LAST_PAGES):
        values = [metadata[name] for metadata in all_ if metadata.get(name) is not None]
        if name in own and values and any(value != own[name] for value in values):
            joined[name] = _page_range(name, values)
    return {**own, **joined} if joined else own


def _page_range(name: str, values: list[Any]) -> Any:
    spans = [_page_span(value) for value in values]
    known = [span for span in spans if span is not None]
    if len(known) < len(values):
        # Roman numerals and the like: in the order of the document, each once.
        return ", ".join(dict.fromkeys(str(value) for value in values))
    low, high = min(span[0] for span in known), max(span[1] for span in known)
    if name in _FIRST_PAGES:
        return low
    if name in _LAST_PAGES:
        return high
    return f"{low}-{high}" if low != high else values[0]


def _page_span(value: Any) -> tuple[int, int] | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value, value
    parts = str(value).replace("–", "-").split("-") if isinstance(value, str) else []
    if not 1 <= len(parts) <= 2 or not all(part.strip().isdecimal() and len(part) < 10 for part in parts):
        return None
    return int(parts[0]), int(parts[-1])
