"""Whole pages: a head that forbids requests, sections, a style and a script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from string import Template

from frazil.display.tables import escaped
from frazil.report.parts import Section, note

__all__ = ["page"]

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header><h1>$title</h1>$under
<nav aria-label="Sections"><ul>$links</ul></nav></header>
<main>$sections</main>
<script>$script</script>
</body>
</html>
""")


def page(title: str, notes: Iterable[str], sections: Iterable[Section | None], before: str = "") -> str:
    """A page as HTML.

    Args:
        title: Its title.
        notes: Sentences below the title.
        sections: Its sections. None is left out.
        before: HTML above the links, such as a form.
    """
    shown = [part for part in sections if part is not None]
    script = _resource("page.js")
    return _PAGE.substitute(
        policy=_policy(script, has_form=bool(before)),
        title=escaped(title),
        style=_resource("page.css"),
        under="".join(map(note, notes)) + before,
        links="".join(f'<li><a href="#{part.name}">{escaped(part.title)}</a></li>' for part in shown),
        sections="\n".join(part.html() for part in shown),
        script=script,
    )


def _resource(name: str) -> str:
    return files("frazil.report").joinpath(name).read_text("utf-8")


def _policy(script: str, has_form: bool) -> str:
    """What a browser may do with the page: apply its styles and run its one script. It may request nothing."""
    target = "'self'" if has_form else "'none'"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = ("default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'", "img-src data:")
    return "; ".join((*rules, "base-uri 'none'", f"form-action {target}"))
