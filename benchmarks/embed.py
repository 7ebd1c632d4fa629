"""Write the tables of the README: run each named benchmark and put what it prints between its marks.

    python benchmarks/embed.py [NAME ...]
    python benchmarks/embed.py yardstick --shared PATH/TO/shared    # a table over question sets that are not in here

A table stands between `<!-- table: COMMAND -->` and `<!-- end of table -->`; COMMAND is `promptpack ...` or a script of
this folder, with its arguments. SHARED among them stands for the folder of the question sets; such a table stays as it
is without `--shared`. Without names, all other tables are written. A script that fails, or whose goals are missed, ends
the run, and the README stays as it was.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = re.compile(r"(<!-- table: ([^>]*?) -->\n)(.*?)(<!-- end of table -->)", re.S)
ELSEWHERE = "SHARED"


def embed(text: str, names: Sequence[str], shared: Path | None) -> str:
    """Return a text with its tables written anew."""

    def run(match: re.Match[str]) -> str:
        opening, command, _, closing = match.groups()
        first, *arguments = command.split()
        if names and first.removesuffix(".py") not in names:
            return match.group()
        if ELSEWHERE in arguments:
            if shared is None:
                print(f"{command}: left as it is, it needs --shared", file=sys.stderr)
                return match.group()
            arguments = [str(shared) if one == ELSEWHERE else one for one in arguments]
        run_it = ["-m", "promptpack"] if first == "promptpack" else [str(ROOT / "benchmarks" / first)]
        done = subprocess.run([sys.executable, *run_it, *arguments], stdout=subprocess.PIPE, text=True, check=True)
        return f"{opening}{done.stdout.strip()}\n{closing}" if done.stdout.strip() else match.group()

    return TABLE.sub(run, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks, without .py (default: all)")
    parser.add_argument("--shared", type=Path, help="the folder with yardstick/ and data/")
    options = parser.parse_args()
    readme = ROOT / "README.md"
    readme.write_text(embed(readme.read_text(encoding="utf-8"), options.names, options.shared), encoding="utf-8")


if __name__ == "__main__":
    main()
