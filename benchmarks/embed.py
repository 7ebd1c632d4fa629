"""Write the tables of the README: run each named benchmark and put what it prints between its marks.

    python benchmarks/embed.py [NAME ...]

A table stands between `<!-- table: COMMAND -->` and `<!-- end of table -->`; COMMAND is `promptpack ...` or a script of
this folder, with its arguments. Without names, all tables that need nothing but this repository are written.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = re.compile(r"(<!-- table: ([^>]*?) -->\n)(.*?)(<!-- end of table -->)", re.S)


def main(names: list[str]) -> None:
    readme = ROOT / "README.md"

    def run(match: re.Match[str]) -> str:
        opening, command, _, closing = match.groups()
        first, *arguments = command.split()
        if names and first.removesuffix(".py") not in names:
            return match.group()
        run_it = ["-m", "promptpack"] if first == "promptpack" else [str(ROOT / "benchmarks" / first)]
        done = subprocess.run([sys.executable, *run_it, *arguments], capture_output=True, text=True, check=True)
        return f"{opening}{done.stdout.strip()}\n{closing}" if done.stdout.strip() else match.group()

    readme.write_text(TABLE.sub(run, readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
