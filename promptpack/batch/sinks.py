"""Where the parts of a divided job go: joined into one file, or each named in a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpack.batch.codecs import codec_for, open_lines
from promptpack.batch.gather import Part
from promptpack.batch.job import Done, Made
from promptpack.batch.journal import State, write_whole
from promptpack.batch.outputs import Outputs, Plan, beside_name, complete, staged
from promptpack.batch.tally import Summary, Tally

_PIECE = 1 << 20
_NO_TALLY = Tally(0, 0, 0, (), 0)
_PART = re.compile(r"part-[0-9]{6,}\..+")
TOLD = "_summary.json"


class OneFile:
    """Joins the parts into the file of a plan, or into the files of limited size that it is split into.

    A run that goes on joins anew: the parts are kept until all is joined, and joining costs next to nothing.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._outputs = Outputs(plan, State())

    def put(self, part: Part) -> None:
        """Add a part."""
        plan, outputs = self._plan, self._outputs
        if plan.codec == "arrow":
            from promptpack.batch.parquet import messages

            for message in messages(part.out, part.leave):
                outputs.put(message)
        elif plan.split is None and not part.leave:
            with part.out.open("rb") as file:
                while piece := file.read(_PIECE):
                    outputs.put(piece)
        else:
            for lines in _kept(part.out, part.leave):
                made = tuple(Made(0, "", b"", len(one), _NO_TALLY) for one in lines)
                outputs.write(Done(made, codec_for(plan.codec).encode(lines)), [])
        for beside in _kept(part.labels, part.leave) if plan.beside is not None else ():
            outputs.write(Done((), b"", tuple(beside)), [])
        for letters in _together(part.dead) if plan.dead is not None else ():
            outputs.write(Done(()), letters)

    def finish(self) -> None:
        """Give the files their names."""
        outputs = self._outputs
        outputs.sync()
        outputs.close()
        complete(self._plan, State(sizes=dict(outputs.sizes), parts=[list(one) for one in outputs.parts]))

    def discard(self) -> None:
        """Delete what is joined so far, where that can be: the next run writes over it."""
        self._outputs.close()
        with suppress(OSError):  # it must not hide why the joining ended
            self._outputs.discard()


@dataclass(frozen=True, slots=True)
class Folder:
    """Names each part: part-000007.jsonl, with .labels.jsonl and .dead.jsonl beside it. dead: whether to keep these.

    Parts without repeated ids, which is nearly all, are renamed and not read.
    """

    folder: Path
    codec: str
    suffix: str
    dead: bool = True
    requests: dict[str, int] = field(default_factory=dict)  # of each part, by its name

    def put(self, part: Part) -> None:
        """Name a part; doing it again does no harm."""
        out = self.folder / f"part-{part.number:06d}{self.suffix}"
        self.requests[out.name] = part.requests
        for source, target in ((part.labels, beside_name(out, "labels")), (part.out, out)):
            if not source.exists():  # named before, by the run that this one goes on with; or there are no labels
                continue
            if part.leave:
                _rewritten(source, staged(target), part.leave, self.codec if source == part.out else "plain")
                staged(target).replace(target)
                source.unlink()
            else:
                source.replace(target)
        letters = beside_name(out, "dead")
        first = next(part.dead, None) if self.dead else None
        if first is None:
            letters.unlink(missing_ok=True)
            return
        with staged(letters).open("wb") as file:
            file.write(first)
            file.writelines(part.dead)
        staged(letters).replace(letters)

    def finish(self, digest: str, summary: Summary) -> None:
        """Tell that all is there."""
        write_whole(self.folder / TOLD, {
            "digest": digest, "summary": summary.to_dict(), "requests": self.requests,
        })

    def finished(self, digest: str) -> Summary | None:
        """Return the totals of a job that is finished, where it is this one."""
        told = self.folder / TOLD
        data = json.loads(told.read_bytes()) if told.exists() else {}
        return Summary.from_dict(data["summary"]) if data.get("digest") == digest else None

    def named(self) -> list[Path]:
        """Return the parts that are there."""
        return sorted(one for one in self.folder.iterdir() if _PART.fullmatch(one.name) or one.name == TOLD)

    def clear(self) -> None:
        """Delete the parts, the totals first."""
        for one in sorted(self.named(), key=lambda one: one.name != TOLD):
            one.unlink()


def requests_of(folder: Path) -> dict[str, int]:
    """Return how many requests each part of a finished folder holds, by its name."""
    told = folder / TOLD
    found = json.loads(told.read_bytes()).get("requests", {}) if told.exists() else {}
    return dict(found)


def _kept(path: Path, leave: frozenset[int]) -> Iterator[list[bytes]]:
    """Yield the lines of a file but for some, many together."""
    with open_lines(str(path)) as file:
        yield from _together(line for at, line in enumerate(file) if at not in leave)


def _together(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lines, about a megabyte of them together."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size > _PIECE:
            yield held
            held, size = [], 0
    if held:
        yield held


def _rewritten(source: Path, target: Path, leave: frozenset[int], codec: str) -> None:
    if codec == "arrow":
        from promptpack.batch.parquet import messages, write_parquet

        between = target.with_name(f"{target.name}.messages")
        with between.open("wb") as file:
            file.writelines(messages(source, leave))
        write_parquet(between, target)
        between.unlink()
        return
    made: Any = codec_for(codec)
    with target.open("wb") as file:
        for lines in _kept(source, leave):
            file.write(made.encode(lines))
