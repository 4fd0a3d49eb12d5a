"""A headless Chromium, driven through a pipe by its DevTools protocol: opens pages, asks them, presses keys, takes pictures."""
import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile

import pytest

from machine import BROWSERS


class Browser:
    def __init__(self, width=1280, height=720):
        path = next(filter(None, map(shutil.which, BROWSERS)), None) or pytest.skip("chromium is not installed")
        self.folder = tempfile.mkdtemp(prefix="browser-")
        (page_reads, self.to), (self.of, page_writes) = os.pipe(), os.pipe()

        def pipes():  # Chromium reads descriptor 3 and writes 4
            held = os.dup(page_reads), os.dup(page_writes)  # duplicate them first, as they may be 3 or 4 themselves
            os.dup2(held[0], 3)
            os.dup2(held[1], 4)

        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                 "--disable-dev-shm-usage",
                 f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen([path, *words], preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(page_reads)
        os.close(page_writes)
        self.numbers, self.rest, self.events, self.session = itertools.count(1), b"", [], None
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.of, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        number = next(self.numbers)
        command = {"id": number, "method": method, "params": parameters}
        command.update({"sessionId": self.session} if self.session else {})
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while (answer := self.message()).get("id") != number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path, width=1280, height=720, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.events.clear()
        self.call("Page.navigate", url=f"file://{path}")
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def ask(self, expression):
        """Evaluates a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key, shift=False):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 * shift)

    def click(self, selector):
        x, y = self.ask("(e => { e.scrollIntoView({ block: 'nearest' }); const r = e.getBoundingClientRect();"
                        f"return [r.x + r.width / 2, r.y + r.height / 2] }})(document.querySelector({json.dumps(selector)}))")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def errors(self):
        """The errors in the browser's console."""
        self.ask("0")
        return [event for event in self.events if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
