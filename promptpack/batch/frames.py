"""Zstandard files as streams: frame by frame, so that one that breaks off in a frame is an error, and not its end."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

# Compressed bytes that are opened in one go. A block of four bytes may stand for 128 KiB, so that these are 16 MB at
# the very most; a larger piece of a file made to harm would fill the memory.
_PIECE = 512
_AHEAD = 1 << 18


class Frames(io.RawIOBase):
    """The content of the frames of a file, one after the other; skippable frames have none.

    opener: makes what opens one frame: `decompress`, `eof` and `unused_data`, as the decompressors of the standard
    library have them. Raises EOFError where the file ends within a frame, OSError for what is no frame.
    """

    def __init__(self, path: str, opener: Callable[[], Any]) -> None:
        self._file: BinaryIO = Path(path).open("rb", buffering=_AHEAD)  # noqa: SIM115  # closed with this
        self._opener = opener
        self._frame: Any = None  # that is open
        self._left = b""  # was read and belongs to the next frame
        self._held = memoryview(b"")

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer as far as there is something at hand; 0 only at the end of the file."""
        while not self._held:
            piece = self._left or self._file.read(_PIECE)
            if not piece:
                if self._frame is not None:
                    raise EOFError("the Zstandard file ends within a frame")
                return 0
            self._held = memoryview(self._opened(piece))
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def _opened(self, piece: bytes) -> bytes:
        if self._frame is None:
            self._frame = self._opener()
        try:
            made: bytes = self._frame.decompress(piece)
        except Exception as error:  # each package has a class of its own, which is no OSError
            raise OSError(f"no whole Zstandard file: {error}") from error
        self._left = b""
        if self._frame.eof:
            self._left, self._frame = self._frame.unused_data, None
        return made

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
