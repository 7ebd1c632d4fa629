"""Counting a block without tokenising it twice: which pieces of a shape may be counted on their own.

Counts of byte-pair vocabularies add up exactly where a line ends before visible text, and before the space after
a word (`promptpack.tokens.boundary` states and tests the rules). A `Meter` cuts the fixed text of a
shape at such places once; then the price of a source is the count of its text, which is remembered, plus the counts of
its attributes, which repeat, plus a constant. For counters whose counts do not add up, the whole block is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from promptpack.protocols import TokenCounter
from promptpack.shape import Shape
from promptpack.tokens.boundary import cuts_here

NUMBERS = ("n", "label")
TEXT = "text"
_KEPT = 20_000  # values of one field whose cost is kept
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


class Meter:
    """Prices the blocks of one shape with one counter, the line break after the block included."""

    def __init__(self, shape: Shape, counter: TokenCounter, *, prefix: str) -> None:
        self._counter = counter
        self._prefix = prefix
        self._shape = Shape((*shape.literals[:-1], shape.literals[-1] + "\n"), shape.gaps)
        self.additive = bool(getattr(counter, "additive", False)) and shape.gaps.count(TEXT) == 1
        self._uniform = bool(getattr(counter, "uniform_digits", False))
        self._fixed: dict[int, int] = {}
        segments = _rejoined(_segments(self._shape)) if self.additive else []
        self._numbered = [one for one in segments if all(gap in NUMBERS for gap in one.gaps)]
        shown = [one for one in segments if not all(gap in NUMBERS for gap in one.gaps)]
        # Where the text stands alone on its lines it is counted alone, unless its first character joins what is before.
        self._text = next((one for one in shown if one.gaps == (TEXT,) and one.literals[0] == ""), None)
        before = segments.index(self._text) - 1 if self._text else -1
        self._before = segments[before] if before >= 0 else None
        # A field alone in its segment costs the same wherever its value comes again.
        alone = [one for one in shown if len(one.gaps) == 1 and one.gaps[0] not in (TEXT, *NUMBERS)]
        self._fields: list[tuple[str, Shape, dict[str, int]]] = [(one.gaps[0], one, {}) for one in alone]
        self._others = [one for one in shown if one is not self._text and one not in alone]
        # Whether the label's number stands in pieces of its own, so that another one changes `fixed` and nothing else.
        self.apart = self.additive and not any(gap in NUMBERS for one in self._others for gap in one.gaps)

    def __call__(self, values: Mapping[str, str], number: int, known: int | None = None) -> int:
        """Return the tokens of the block with these values (attributes and text) under label `number`.

        `known` is the count of the text where somebody knows it; the line break after it counts as one more.
        """
        count = self._counter
        if not self.additive:
            return count(self._shape.fill({**values, **self._number(number)}))
        total = self.fixed(number)
        for gap, segment, seen in self._fields:
            total += self._remembered(gap, segment, seen, values[gap])
        if self._others:
            filled = {**values, **self._number(number)}
            total += sum(count(one.fill(filled)) for one in self._others)
        if self._text is None:
            return total
        if known is not None:
            return total + known + 1
        text = values[TEXT]
        body = self.body(text)
        if self.alone(text) or self._before is None:
            return total + count(body)
        before = self._before.fill({**values, **self._number(number)})
        return total + count(before + body) - count(before)

    @property
    def columnar(self) -> bool:
        """Whether a price is that of the label's parts, and of each field, and of the text, each by itself."""
        return self.additive and self._text is not None and not self._others

    def alone(self, text: str) -> bool:
        """Tell whether a text is counted apart from the line before it."""
        first = text[:1]
        return "0" <= first <= "z" or starts_clean(first)

    def field(self, gap: str, value: str) -> int:
        """Return the tokens that a field adds with this value; for columnar meters."""
        return sum(self._remembered(*one, value) for one in self._fields if one[0] == gap)

    def _number(self, number: int) -> dict[str, str]:
        digits = str(number)
        return {"n": digits, "label": self._prefix + digits}

    def body(self, text: str) -> str:
        """Return the piece that a text is counted in, where it is counted alone."""
        return text if self._text is None else text + self._text.literals[1]

    def _remembered(self, gap: str, segment: Shape, seen: dict[str, int], value: str) -> int:
        tokens = seen.get(value)
        if tokens is None:
            tokens = self._field(gap, segment, seen, value)
            if len(seen) < _KEPT:
                seen[value] = tokens
        return tokens

    def _field(self, gap: str, segment: Shape, seen: dict[str, int], value: str) -> int:
        alike = self.alike(value)
        tokens = seen.get(alike)
        if tokens is None:
            tokens = self._counter(segment.fill({gap: alike}))
            if len(seen) < _KEPT:
                seen[alike] = tokens
        return tokens

    def alike(self, value: str) -> str:
        """Return a value that costs the same: ids and dates mostly differ in their digits, which may not matter."""
        if self._uniform and value.isascii():
            return value.encode("ascii").translate(_ZEROS).decode("ascii")
        return value

    def all_alike(self, values: Sequence[str]) -> Sequence[str]:
        """Return for each value what `alike` does."""
        if not self._uniform:
            return values
        together = "\n".join(values)  # so that a whole column is translated in one go
        if together.isascii() and together.count("\n") == len(values) - 1:
            return self.alike(together).split("\n")
        return list(map(self.alike, values))

    def all_fixed(self, numbers: Sequence[int]) -> list[int]:
        """Return what `fixed` does for each of these numbers."""
        found = list(map(self._fixed.get, numbers))
        return [self.fixed(number) if one is None else one for number, one in zip(numbers, found, strict=True)]

    def fixed(self, number: int) -> int:
        """Return the tokens of the parts that hold nothing but the label and its number."""
        tokens = self._fixed.get(number)
        if tokens is None:
            # Where digits do not matter, numbers of the same length cost the same.
            alike = 10 ** (len(str(number)) - 1) if self._uniform else number
            tokens = self._fixed.get(alike)
            if tokens is None:
                values = self._number(alike)
                tokens = self._fixed[alike] = sum(self._counter(one.fill(values)) for one in self._numbered)
            self._fixed[number] = tokens
        return tokens


def starts_clean(text: str) -> bool:
    """Tell whether a block with this text may be counted apart from a line break before it."""
    return bool(text) and cuts_here("\n", text[0])


def _segments(shape: Shape) -> list[Shape]:
    """Cut a shape at every place inside or at the ends of its fixed texts where counts add up for any values."""
    segments: list[Shape] = []
    literals: list[str] = []
    gaps: list[str] = []
    current = ""

    def close() -> None:
        nonlocal literals, gaps, current
        if current or gaps:
            segments.append(Shape((*literals, current), tuple(gaps)))
        literals, gaps, current = [], [], ""

    before = "\n"  # what stands before the block: the line break of the one before it
    for index, literal in enumerate(shape.literals):
        follows = shape.gaps[index] if index < len(shape.gaps) else None
        for char in literal:
            if before and cuts_here(before, char) and (gaps or current):
                close()
            current += char
            before = char
        if follows is None:
            break
        if follows == TEXT and before == "\n":
            close()  # provisional: the meter looks at the first character of each text
        elif follows in NUMBERS and before and cuts_here(before, "1"):  # of a text nothing is known
            close()
        literals.append(current)
        gaps.append(follows)
        current = ""
        # A number ends in a digit and an attribute in a visible character; of a text nothing is known.
        before = "" if follows == TEXT else "0" if follows in NUMBERS else "x"
    close()
    return segments


def _rejoined(segments: list[Shape]) -> list[Shape]:
    """Put a piece that begins with the text, and holds other values too, together with the one before it.

    The cut between them holds for some first characters only, and is looked at where the text is alone in its piece.
    """
    for at in range(1, len(segments)):
        first, second = segments[at - 1], segments[at]
        if second.literals[0] == "" and second.gaps[:1] == (TEXT,) and len(second.gaps) > 1:
            both = Shape((*first.literals, *second.literals[1:]), first.gaps + second.gaps)
            return [*segments[: at - 1], both, *segments[at + 1:]]
    return segments


def joined(blocks: Sequence[str], before: str, after: str) -> bool:
    """Tell whether a message `before + blocks + after` may be counted block by block.

    The blocks are joined by line breaks; `before` ends in one or is empty, and `after` starts with one, which
    belongs to the price of the last block.
    """
    if before and not before.endswith("\n"):
        return False
    if not (after.startswith("\n") and (len(after) == 1 or cuts_here("\n", after[1]))):
        return False
    return all(starts_clean(first) for first in {block[:1] for block in blocks})
