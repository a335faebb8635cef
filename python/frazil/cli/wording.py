"""The library's messages in the words of the command line: hints that name functions of Python name commands."""

from __future__ import annotations

import re

from frazil.cli import output

__all__ = ["error_text", "in_commands"]

_COMMANDS = (
    (r"repair\('([a-z-]+)'\)", r"frazil repair --only \1"),
    (r"doctor\.restore\(\)", "frazil repair --restore"),
    (r"Open the table and use repair\(\)", "Use frazil repair without --restore"),
    (r"\bdoctor\.examine\(\)", "frazil doctor"),
    (r"\bdoctor\(\)", "frazil doctor"),
    (r"catalog\(warehouse='([^']*)'\) lists its tables", r"frazil ls \1 lists its tables"),
    (
        r"For a metadata table, write load_table\('[^']*'\)\.inspect\.(\w+)\(\)",
        "Metadata tables are commands, such as frazil files",
    ),
    (r"Leave select out to read", "Leave out --select to read"),
    (
        r"For a time, write datetime\.fromtimestamp\([0-9]+ / 1000, timezone\.utc\)",
        "For a time, write a date or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z",
    ),
    (r"Give if_not_exists=True to get it as it is", "Choose another name, or drop it first: frazil drop"),
    (r"Open a folder with frazil\.open_table", "For a folder in the working directory, write ./NAME"),
    (r"Create it with create_namespace\(\)", "frazil create makes it with its first table"),
    (r"\bSee table\.snapshots", "See frazil snapshots"),
    (r"\btable\.snapshots\b", "frazil snapshots"),
    (
        r"refs\.create_tag\('t', at=\.\.\.\), then create_branch\(at='t'\)",
        "frazil tag TABLE t --at VERSION, then frazil branch TABLE NAME --at t",
    ),
    (r"\brollback\(to=([^()]*)\)", r"frazil rollback \1"),
    (r"\brollback\(\) goes back", "frazil rollback without --any goes back"),
    (r"\brollback\(\)", "frazil rollback"),
    (r"\b(?:(?:table\.)?maintain\.)?compact\(\)", "frazil compact"),
    (r"\bcompact\((?:order|sort_by)=\.\.\.\)", "frazil compact --sort-by COLUMN --all"),
    (r"\brewrite_manifests\(\)", "frazil rewrite-manifests"),
    (r"\bexpire_snapshots\(\)", "frazil expire"),
    (r"\bremove_orphan_files\(\)", "frazil orphans"),
    (r"\btable\.changes\(since=\.\.\.(?:, at=\.\.\.)?\)", "frazil changes --since"),
    (r"\btable\.scan\(since=\.\.\., at=\.\.\.\)", "frazil scan --since"),
    (r"if the table was copied, open it with moved=True", "frazil doctor says what is lost"),
    (r"a copy can be read with moved=True", "only Python reads a copy, with moved=True"),
    (r"\brewrite_position_deletes\(rewrite_all=True\)", "frazil rewrite-deletes, in Python with rewrite_all=True"),
    (r"\brewrite_position_deletes(?=:)", "frazil rewrite-deletes"),
    (r"\bremove_dangling_deletes(?=:)", "frazil rewrite-deletes --dangling"),
    (r"\bconvert_equality_deletes(?=:)", "frazil rewrite-deletes --equality"),
    (r"\brewrite_manifests(?=:)", "frazil rewrite-manifests"),
    (r"\bexpire_snapshots(?=:)", "frazil expire"),
    (r"\bremove_orphan_files(?=:)", "frazil orphans"),
    (r"\bremove_orphan_files\(\)", "frazil orphans"),
    (r"\bexpire_snapshots\(\)", "frazil expire"),
    (r"\brewrite_manifests\(\)", "frazil rewrite-manifests"),
    (r"\bcompact\(\)", "frazil compact"),
    (r"\bcompact\(order=\.\.\.\)", "frazil compact --sort-by"),
    (r"older_than= or retain_last=", "--older-than or --retain-last"),
    (r"\bretain_last=", "--retain-last"),
    (r"\bolder_than=", "--older-than"),
    (r"\brewrite_all=True", "--all"),
    (r"\brewrite_all(?= is not for)", "--all"),
    (r"\btarget_file_size_bytes(?= is not for)", "--target-size"),
    (r"\bmin_input_files(?= is not for)", "--min-files"),
    (r"\b(sort|zorder)_by(?= (?:is|belongs|to) )", r"--\1-by"),
    (r"\b(sort|zorder)_by=\[\.\.\.\]", r"--\1-by"),
    (r"\bstrategy='(\w+)'", r"--strategy \1"),
    (r", or those given as options=\{\.\.\.\}", ": see frazil set"),
    (r"\bLeave out rows=True", "Leave out --rows"),
    (r"\bdelete_files=False expires", "--keep-files expires"),
    (r"\bdelete_files=False; dry_run=True lists", "--keep-files; --dry-run lists"),
    (r"\buse purge=True", "use --purge"),
    (r"\buse purge=False", "leave out --purge"),
    (r"\blocation=(?=,|$| or)", "--location"),
    (r"\bformat='(iceberg|paimon)'", r"--format \1"),
    (r"\bremove_dangling_deletes\(\)", "frazil rewrite-deletes --dangling"),
    (
        r"(values of type (?:date|timestamp\w*) can't be compared with values of type (?:int|long))"
        r"\. Write cast\(x as …\) around one side",
        r"\1. Write dates in quotes: '2026-01-31'",
    ),
)
_OF_SEVERAL_LINES = "can't read the filter\n"


def in_commands(text: str) -> str:
    """A text of the library, with commands in place of functions."""
    for found, command in _COMMANDS:
        text = re.sub(found, command, text)
    return text


def error_text(message: str) -> str:
    """An error's message as the command line prints it. Only those about filters have several lines."""
    said = in_commands(message)
    if not said.startswith(_OF_SEVERAL_LINES):
        return output.public(said, 8000)
    return "\n".join(output.public(line, 8000) for line in output.masked(said).split("\n"))
