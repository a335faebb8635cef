"""Processor time of a process and all that it started, from /proc: Spark's JVM and its Python workers."""

import ctypes
import os
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(root: int | None = None) -> float:
    """Seconds of processor time so far, of the process (this one) and its descendants, ended ones too."""
    children: dict[int, list[int]] = {}
    times: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # The command, in brackets, may hold anything.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        children.setdefault(int(fields[1]), []).append(int(folder.name))
        # Own time in user and kernel mode, and that of children which have ended.
        times[int(folder.name)] = sum(map(int, fields[11:15]))
    total, waiting = 0, [os.getpid() if root is None else root]
    while waiting:
        process = waiting.pop()
        total += times.get(process, 0)
        waiting += children.get(process, [])
    return total / TICKS


def keep_orphans() -> None:
    """Has descendants whose parent ends become children of this process, where their time still counts.

    Raises:
        OSError: The system does not do it.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "descendants can't be kept")
