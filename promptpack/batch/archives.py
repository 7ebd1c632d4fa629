"""Files that are no lines, told by how they begin: read as lines, every row of them would be a bad one."""

from __future__ import annotations

from promptpack.errors import OptionError, quote

# How files begin that are no lines: what they are, what makes lines of them, and the ending that tells what they are.
_KINDS = {
    b"\x1f\x8b": ("compressed (gzip)", "gzip -dc", ".gz"),
    b"\x28\xb5\x2f\xfd": ("compressed (Zstandard)", "zstd -dc", ".zst"),
    b"BZh": ("compressed (bzip2)", "bzip2 -dc", ""), b"\xfd7zXZ\x00": ("compressed (xz)", "xz -dc", ""),
    b"PAR1": ("Parquet", "", ".parquet"),
}
MAGIC = max(map(len, _KINDS))


def no_archive(start: bytes, path: str, name: str = "input") -> None:
    """OptionError where bytes that are to be read as lines are the beginning of another kind of file.

    path: of the file, "-" for standard input. name: of the option.
    """
    for magic, (kind, command, ending) in _KINDS.items():
        if not start.startswith(magic):
            continue
        if path == "-":
            what = f"unpack it in the pipe: {command} FILE | promptpack ..." if command else (
                "it cannot be read from a stream; give the file by its name"
            )
        else:
            what = f"name it so that it ends in {ending}" if ending else f"unpack it first ({command})"
        where = "standard input" if path == "-" else quote(path, 200)
        raise OptionError(f"{name}: {where} is {kind}, and plain lines are read; {what}", name=name, given=path)
