"""The program: its commands, in the order of its help."""

from __future__ import annotations

import click

import frazil
from frazil.cli import completing
from frazil.cli.act import files as act_files
from frazil.cli.act import maintenance, references, repairing, tables
from frazil.cli.look import describing, differing, examining, listing, planning, rows, serving

__all__ = ["app"]

_LOOK = (
    *(describing.ls, describing.catalogs, describing.show, describing.schema, describing.spec, describing.properties),
    *(listing.snapshots, listing.history, listing.refs, listing.files, listing.manifests, listing.partitions),
    *(rows.scan, rows.count, rows.changes, planning.explain, planning.estimate, differing.diff),
    *(examining.doctor, serving.serve),
)
_ACT = (
    *(tables.create, act_files.append, tables.drop, tables.set_, tables.unset, tables.upgrade),
    *(references.rollback, references.branch, references.tag),
    *(maintenance.expire, maintenance.compact, maintenance.orphans),
    *(maintenance.rewrite_manifests, maintenance.rewrite_deletes, repairing.repair),
)


_ELSEWHERE = {
    **dict.fromkeys(("optimize", "rewrite-data-files"), "compact"),
    **dict.fromkeys(("vacuum", "cleanup"), "expire, then frazil orphans"),
    **dict.fromkeys(("select", "query", "cat", "head", "read"), "scan"),
    **dict.fromkeys(("health", "check", "fsck", "analyze"), "doctor"),
    **dict.fromkeys(("describe", "info", "inspect"), "show"),
    **dict.fromkeys(("log", "versions"), "snapshots"),
    **dict.fromkeys(("insert", "load", "import"), "append"),
    "undo": "rollback",
    "restore": "rollback, for an earlier version, or frazil repair --restore for lost metadata of Apache Iceberg",
    **dict.fromkeys(("tags", "branches"), "refs"),
    **dict.fromkeys(("list", "tables"), "ls"),
    **dict.fromkeys(("report", "html", "page"), "show TABLE --html FILE"),
    "plan": "explain",
}
"""Names of commands in other programs, and the command here."""


_NO_COMMAND = {
    "revert": "frazil rollback would also take back later commits. To take back one commit alone, see "
    "docs/howto/versions/undo-one.md",
}
"""What to do in place of commands of other programs that have no counterpart."""

_ONLY_PYTHON = ("delete", "update", "merge", "upsert", "overwrite")
"""Names of methods that have no command."""


class _Program(click.Group):
    """The group of all commands. Its help lists those that look, and then those that change something."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name. Names of other programs are answered."""
        if args and args[0] not in self.commands and args[0] in _ELSEWHERE:
            ctx.fail(f"No such command '{args[0]}'. Write frazil {_ELSEWHERE[args[0]]}")
        if args and args[0] in _NO_COMMAND:
            ctx.fail(f"No such command '{args[0]}'. {_NO_COMMAND[args[0]]}")
        if args and args[0] in _ONLY_PYTHON:
            ctx.fail(f"No such command '{args[0]}'. Write table.{args[0]}(…) in Python")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        parts = (("Look", _LOOK), ("Change (each shows first what it would do)", _ACT), ("Shell", (completion,)))
        for title, commands in parts:
            with formatter.section(title):
                formatter.write_dl([(command.name or "", command.get_short_help_str(90)) for command in commands])


@click.command("completion", short_help="Print the script that completes words in a shell")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes words in a shell.

    For example: eval "$(frazil completion bash)"
    """
    click.echo(completing.script(shell, app))


@click.group(cls=_Program, context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100})
@click.version_option(frazil.__version__, prog_name="frazil", message="%(prog)s %(version)s")
def app() -> None:
    """Look at tables of Apache Iceberg and Apache Paimon, and change them.

    TABLE is a folder or URI, a metadata file, or catalog.namespace.table. Catalogs are those of .pyiceberg.yaml and
    PYICEBERG_CATALOG__… variables.
    """


for _command in (*_LOOK, *_ACT, completion):
    app.add_command(_command)
