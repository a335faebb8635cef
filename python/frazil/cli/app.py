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


class _Program(click.Group):
    """The group of all commands. Its help lists those that look, and then those that change something."""

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
