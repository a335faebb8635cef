"""The command that serves the page of a table."""

from __future__ import annotations

import click

import frazil as fz
from frazil.cli import output
from frazil.cli.session import Session, looking
from frazil.report.gathering import table_page
from frazil.report.serving import PageServer

__all__ = ["serve"]


@looking("serve")
@click.option("--port", "-p", type=click.IntRange(0, 65535), default=0, help="The port. By default a free one.")
def serve(session: Session, table: str, port: int) -> None:
    """Show a table in a browser on this machine, with a box for filters.

    Each request reads the newest version and plans again. Nothing is changed. Ctrl-C ends it.
    """

    def asked(where: str | None, at: str | None, doctor: bool, form: str) -> str:
        # Requests run side by side, so each has a table of its own.
        newest = fz.Table(opened._core.refresh(), opened.name)
        return table_page(newest, where, session.at(newest, at), doctor, form)

    opened = session.table(table)
    with PageServer(asked, opened.name, port) as server:
        if session.as_json:
            output.document({"url": server.url})
        else:
            output.lines(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            output.say("Stopped.")
