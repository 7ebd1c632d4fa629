"""One browser for all tests here; without one they are skipped, saying so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from driven import Browser, found


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = found()
    if path is None:
        pytest.skip("there is no Chromium; on Debian: apt-get install chromium, or name one in CHROMIUM")
    if sys.platform == "win32":
        pytest.skip("the pipe to the browser needs a POSIX system")
    with Browser(path, tmp_path_factory.mktemp("profile")) as made:
        yield made
