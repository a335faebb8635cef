"""The built site in headless Chromium: no page and no code scrolls sideways, on a phone or on a desk; no link is dead.

Needs `make docs`'s tools and Chromium; skipped without them.
"""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest

pytest.importorskip("mkdocs", reason="the site's tools are missing: make docs")
ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTHS = (400, 1280)
# Opens each page at each width, and leaves the pages that are wider than the window as JSON.
HARNESS = """<!doctype html><body><script>
const WIDTHS = {widths}, PAGES = {pages}, wide = [];
async function measured(width) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  document.body.append(frame);
  for (const page of PAGES) {
    await new Promise(done => { frame.onload = done; frame.src = page; });
    await new Promise(done => setTimeout(done, 20));
    const root = frame.contentDocument.documentElement;
    if (root.scrollWidth > root.clientWidth) wide.push([page, width, root.scrollWidth]);
    for (const code of frame.contentDocument.querySelectorAll("pre > code"))
      if (code.scrollWidth > code.clientWidth + 1) wide.push([page, width, code.textContent.slice(0, 40)]);
  }
}
Promise.all(WIDTHS.map(measured)).then(() => {
  document.body.textContent = "RESULT" + JSON.stringify({wide, seen: PAGES.length * WIDTHS.length}) + "END";
});
</script></body>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def test_links_are_alive(site: Path) -> None:
    pages = {f"/{path.relative_to(site).as_posix()}": path.read_text("utf-8") for path in site.rglob("*.html")}
    ids = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    dead = []
    for page, text in pages.items():
        if page == "/404.html":
            continue
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            if re.match(r"[a-z]+:|//", link):
                continue
            target, anchor = urldefrag(urljoin(page, link))
            target += "index.html" if target.endswith("/") else ""
            alive = target in pages or (site / target.lstrip("/")).is_file()
            if not alive or (anchor and target in ids and anchor not in ids[target] and not anchor.startswith("__")):
                dead.append((page, link))
    assert dead == []


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing")
@pytest.mark.timeout(900)
def test_no_page_scrolls_sideways(site: Path, address: str, tmp_path: Path) -> None:
    pages = sorted("/" + path.relative_to(site).as_posix() for path in site.rglob("index.html"))
    text = HARNESS.replace("{widths}", json.dumps(WIDTHS)).replace("{pages}", json.dumps(pages))
    (site / "harness.html").write_text(text)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=600000", "--dump-dom"]
    command = [str(CHROMIUM), *options, "--window-size=1400,1000", f"--user-data-dir={tmp_path}"]
    command.append(f"{address}harness.html")
    done = subprocess.run(command, capture_output=True, text=True, timeout=800)
    found = re.search(r"RESULT(.*)END", done.stdout)
    assert found, done.stderr[-1000:]
    result = json.loads(found[1].replace("&gt;", ">").replace("&amp;", "&"))
    assert result["seen"] == len(pages) * len(WIDTHS)
    assert result["wide"] == []
