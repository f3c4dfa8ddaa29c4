"""Pages in a headless Chromium, where one is installed: what its console said, what it asked for, how wide the page
is, and a picture of it. Driven over WebDriver on loopback."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Browser", "Seen", "browser", "needs_browser"]

_PROGRAMS = ("chromium", "chromedriver")
_MISSING = [name for name in _PROGRAMS if shutil.which(name) is None]
needs_browser = pytest.mark.skipif(bool(_MISSING), reason=f"no {' and no '.join(_MISSING)} on this machine")
_PORT = re.compile(r"successfully on port (\d+)")
_TIMEOUT_S = 60
_CODES = {"Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowRight": 39}


@dataclass(frozen=True)
class Seen:
    console: list[str]
    """errors and warnings"""
    fetched: list[str]
    """addresses that were asked for beside the page itself"""
    page_width: int
    """pixels that the page takes; more than the window has is cut off or scrolled"""
    picture: bytes
    """PNG of the whole page"""


class Browser:
    def __init__(self, driver: str) -> None:
        self._driver = driver
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
        ]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def look(self, page: Path | str, width: int, *, dark: bool = False, height: int = 900, whole: bool = True) -> Seen:
        """Open a file, or an address, as a person would with a window of that width. `whole`: the picture shows what
        lies below the window, too."""
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._devtools("Emulation.setEmulatedMedia", features=[scheme])
        self._logs()
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self._ask("POST", f"{self._session}/url", {"url": address})
        page_width = self.page_width()
        picture = self._devtools("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        console, fetched = self._logs()
        return Seen(console, [url for url in fetched if url != address], page_width, base64.b64decode(picture))

    def resize(self, width: int, height: int = 900) -> None:
        self._devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def page_width(self) -> int:
        return int(self.run("return document.documentElement.scrollWidth"))

    def run(self, script: str, *args: Any) -> Any:
        """What a script returns that the page runs."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(args)})

    def press(self, key: str, *, shift: bool = False) -> None:
        """A key, for what has the focus."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        common = {"key": key, "modifiers": 8 if shift else 0, "windowsVirtualKeyCode": _CODES.get(key, 0)}
        self._devtools("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self._devtools("Input.dispatchKeyEvent", type="keyUp", **common)

    def point(self, *places: tuple[float, float], drag: bool = False, clicks: int = 0) -> None:
        """Move the mouse to places of the window, one after the other. `drag`: with the button pressed from the first
        to the last. `clicks`: at the last."""
        for number, (x, y) in enumerate(places):
            self._mouse("mouseMoved", x, y)
            if drag and number == 0:
                self._mouse("mousePressed", x, y, 1)
        if drag:
            self._mouse("mouseReleased", *places[-1], 1)
        for count in range(1, clicks + 1):
            self._mouse("mousePressed", *places[-1], count)
            self._mouse("mouseReleased", *places[-1], count)

    def _mouse(self, kind: str, x: float, y: float, clicks: int = 0) -> None:
        self._devtools(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if clicks else "none", clickCount=clicks
        )

    def scripts(self, *, run: bool) -> None:
        """Whether pages that are opened from now on run their scripts."""
        self._devtools("Emulation.setScriptExecutionDisabled", value=not run)

    def accessible(self) -> list[dict[str, Any]]:
        """What a screen reader gets: nodes with role and name, without those that it skips."""
        nodes = self._devtools("Accessibility.getFullAXTree")["nodes"]
        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", ""),
                "focusable": any(each["name"] == "focusable" for each in node.get("properties", ())),
            }
            for node in nodes
            if not node["ignored"]
        ]

    def close(self) -> None:
        self._ask("DELETE", self._session)

    def _logs(self) -> tuple[list[str], list[str]]:
        """Console and requests since the last time."""
        said = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        traffic = self._ask("POST", f"{self._session}/se/log", {"type": "performance"})
        messages = [json.loads(entry["message"])["message"] for entry in traffic]
        asked = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        return [f"{entry['level']}: {entry['message']}" for entry in said], asked

    def _devtools(self, command: str, **params: Any) -> Any:
        return self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": params})

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._driver + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            return json.load(answer)["value"]


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser of its own, with a profile that goes with it."""
    with tempfile.TemporaryDirectory() as home:
        driver = subprocess.Popen(
            ["chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env={**os.environ, "HOME": home},
        )
        try:
            assert driver.stdout is not None
            port = next(found[1] for line in driver.stdout if (found := _PORT.search(line)))
            opened = Browser(f"http://127.0.0.1:{port}")
            try:
                yield opened
            finally:
                opened.close()
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
