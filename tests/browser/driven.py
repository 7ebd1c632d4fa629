"""A headless Chromium driven over a pipe (the DevTools protocol), with nothing to install besides the browser.

Messages are JSON with a NUL behind each: the browser reads them from descriptor 3 and writes to 4.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--disable-extensions",
    "--mute-audio",
    "--hide-scrollbars", "--remote-debugging-pipe",
)
# The ends of the pipe become 3 and 4, whatever numbers they had; then the browser takes the place of this program.
ARRANGE = """
import os, sys
ends = [os.dup2(int(number), spare) for number, spare in zip(sys.argv[1:3], (100, 101))]
for end, wanted in zip(ends, (3, 4)):
    os.dup2(end, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 60.0  # seconds for one answer; a busy machine is slow


def found() -> str | None:
    """Return the path of a browser, from CHROMIUM or the usual names."""
    named = os.environ.get("CHROMIUM")
    return next((path for name in ([named] if named else NAMES) if (path := shutil.which(name))), None)


class Browser:
    """One browser with one page; use it as a context."""

    def __init__(self, path: str, profile: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        self._process = subprocess.Popen(
            [sys.executable, "-c", ARRANGE, str(theirs_in), str(theirs_out), path, *FLAGS,
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._data = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        target = next(
            one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page"
        )["targetId"]
        self._session: str | None = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.ask(f"{domain}.enable")

    _session = None

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        os.close(self._in)
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        while True:
            got = self._next()
            if got.get("id") == self._number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                result: dict[str, Any] = got["result"]
                return result
            self.events.append(got)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._data:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            more = os.read(self._in, 1 << 20) if ready else b""
            if not more:
                raise RuntimeError("the browser went away" if ready else "the browser does not answer")
            self._data += more
        message, self._data = self._data.split(b"\0", 1)
        got: dict[str, Any] = json.loads(message)
        return got

    def open(
        self, address: str, *, width: int = 1100, height: int = 900, dark: bool = False, script: bool = True
    ) -> None:
        """Open a page and wait until it is loaded; what happened before is forgotten."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        ])
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)
        self.ask("Page.navigate", url="about:blank")
        self._settle("about:blank")
        self.events.clear()
        self.ask("Page.navigate", url=address)
        self._settle(address)

    def _settle(self, address: str) -> None:
        until = time.monotonic() + PATIENCE
        while self.run("document.readyState + location.href") != f"complete{address}":
            if time.monotonic() > until:
                raise RuntimeError(f"{address} does not load")
            time.sleep(0.02)

    def run(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript on the page."""
        got = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(str(got["exceptionDetails"].get("exception", got["exceptionDetails"])))
        return got["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Move the pointer, and click there."""
        for kind in ("mouseMoved", *(("mousePressed", "mouseReleased") if click else ())):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if click else "none", clickCount=1)

    def spoken(self) -> list[tuple[str, str]]:
        """Return what a screen reader gets: role and name of every node that is not ignored."""
        return [
            (one["role"]["value"], one.get("name", {}).get("value", ""))
            for one in self.ask("Accessibility.getFullAXTree")["nodes"] if not one["ignored"]
        ]

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Write a picture of the page."""
        got = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(got["data"]))
