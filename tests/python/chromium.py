"""Headless Chromium that a test drives: it opens pages, moves the mouse, types, and takes pictures.

It speaks the DevTools protocol over two pipes, so it needs no other package and opens no port.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

_HANG = 60
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars"),
    "--window-size=1100,900",
)
_START = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts Chromium, which reads commands at descriptor 3 and writes answers to descriptor 4."""

Pixel = tuple[int, int, int]


class Browser:
    """One page in a browser.

    Args:
        folder: A folder for its files.
    """

    def __init__(self, folder: Path) -> None:
        program = shutil.which("chromium")
        if program is None:
            pytest.skip("no 'chromium' on the PATH")
        read, self._commands = os.pipe()
        self._answers, write = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(read), str(write), program, *_FLAGS, f"--user-data-dir={folder}"],
            pass_fds=(read, write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._rest, self._number = b"", 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def _message(self, wait: float) -> dict[str, Any] | None:
        """The next answer or event; None if none comes."""
        while b"\0" not in self._rest:
            if not select.select([self._answers], [], [], wait)[0]:
                return None
            more = os.read(self._answers, 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def ask(self, method: str, **given: Any) -> dict[str, Any]:
        """The result of a command of the DevTools protocol."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": given}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message(_HANG)
            assert message is not None, f"no answer to {method}"
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def loaded(self) -> None:
        """Waits for the end of a page's load."""
        until = time.monotonic() + _HANG
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            message = self._message(1)
            if message is not None:
                self.events.append(message)
            assert time.monotonic() < until, "the page is not loaded"

    def open(self, address: str) -> None:
        """Opens a page."""
        self.events.clear()
        self.ask("Page.navigate", url=address)
        self.loaded()

    @property
    def requested(self) -> list[str]:
        """The addresses that were asked for since the page was opened."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [found["request"]["url"] for found in sent]

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """What the browser wrote to its console, and errors of scripts."""
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [event for event in self.events if event.get("method") in kinds]

    def value(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def middle(self, selector: str, number: int = 0) -> tuple[float, float]:
        """The middle of an element, after it was scrolled into the window."""
        at = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        self.value(f"{at}.scrollIntoView({{block: 'center'}})")
        box = self.value(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({at}.getBoundingClientRect())")
        return box[0], box[1]

    def click(self, selector: str, number: int = 0) -> None:
        """Moves the mouse to an element, and clicks."""
        x, y = self.middle(selector, number)
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Presses a key such as `ArrowRight`."""
        codes = {"ArrowRight": 39, "ArrowLeft": 37, "Tab": 9, "Enter": 13}
        text = {"Enter": "\r"}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            given = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **given)

    def type(self, text: str) -> None:
        """Types a text where the cursor is."""
        self.ask("Input.insertText", text=text)

    def picture(self, selector: str, number: int = 0, side: int = 24) -> list[Pixel]:
        """The pixels of a square in the middle of an element."""
        x, y = self.middle(selector, number)
        scrolled = self.value("[scrollX, scrollY]")
        clip = {"x": x + scrolled[0] - side / 2, "y": y + scrolled[1] - side / 2, "width": side, "height": side}
        taken = self.ask("Page.captureScreenshot", format="png", clip={**clip, "scale": 1})
        return _pixels(base64.b64decode(taken["data"]))


def _pixels(png: bytes) -> list[Pixel]:
    """The pixels of a PNG with 8 bits a channel, row by row."""
    at, packed = 8, b""
    width = height = channels = 0
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        at += 12 + size
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert (depth, interlaced) == (8, 0)
            channels = {2: 3, 6: 4}[colours]
        elif kind == b"IDAT":
            packed += body
    data, line = zlib.decompress(packed), width * channels
    before, found = bytes(line), []
    for row in range(height):
        start = row * (line + 1)
        before = _unfiltered(data[start], data[start + 1 : start + 1 + line], before, channels)
        found += [(before[i], before[i + 1], before[i + 2]) for i in range(0, line, channels)]
    return found


def _unfiltered(kind: int, row: Sequence[int], above: bytes, step: int) -> bytes:
    """A row of a PNG without its filter."""
    out = bytearray(row)
    for i in range(len(out)):
        left, up = (out[i - step] if i >= step else 0), above[i]
        corner = above[i - step] if i >= step else 0
        near = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
        out[i] = (out[i] + (0, left, up, (left + up) // 2, near)[kind]) % 256
    return bytes(out)
