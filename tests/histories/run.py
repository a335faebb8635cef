"""Random histories with kills: processes change one or two tables, and one after another is killed by SIGKILL.

Requests to some REST catalogs fail, too. Afterwards the tables must hold exactly what the logs of the processes say:
nothing lost, doubled or torn. Then orphans are removed, and every live file of every snapshot must still exist.
`make histories MINUTES=10` runs all cases.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

from places import CASES, KINDS, Kind, catalog_at, create, open_catalog
from replay import apart, differences, replay, torn_groups

import frazil as fz

WORKER = pathlib.Path(__file__).with_name("worker.py")
# Two of the processes read and maintain, the others write.
ROLES = ("keeper", "reader")
# How long the processes have to end on their own.
GRACE_S = 120


class Processes:
    """The processes of a history. One that is killed is replaced."""

    def __init__(self, settings: pathlib.Path, count: int) -> None:
        self.settings, self.number, self.kills = settings, 0, 0
        self.running: list[tuple[subprocess.Popen[bytes], str]] = []
        for place in range(count):
            self.start(ROLES[place] if place < len(ROLES) else "writer")

    def start(self, role: str) -> None:
        command = [sys.executable, str(WORKER), str(self.settings), str(self.number), role]
        errors = self.settings.with_name(f"errors-{self.number}.txt").open("wb")
        self.running.append((subprocess.Popen(command, stderr=errors), role))
        self.number += 1

    def kill_one(self, draw: random.Random) -> None:
        process, role = self.running.pop(draw.randrange(len(self.running)))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            self.kills += 1
        process.wait()
        self.start(role)

    def stop(self) -> None:
        """Lets all end; kills what does not."""
        self.settings.with_name("stop").touch()
        deadline = time.monotonic() + GRACE_S
        for process, _ in self.running:
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run_case(case: str, seconds: float, count: int, seed: int) -> tuple[dict[str, Any], list[str]]:
    """Runs one history; returns its figures and its faults."""
    place, name = case.split(":")
    kind, folder = KINDS[name], pathlib.Path(tempfile.mkdtemp(prefix="frazil-history-"))
    with catalog_at(place, folder) as found:
        if isinstance(found, str):
            shutil.rmtree(folder)
            return {"skipped": found}, []
        catalog = found.arguments
        create(catalog, kind)
        settings = folder / "settings.json"
        settings.write_text(json.dumps({"folder": str(folder), "kind": name, "seed": seed, "catalog": catalog}))
        draw, processes = random.Random(seed), Processes(settings, count)
        try:
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                found.disturb(draw)
                time.sleep(min(left, 1.5 + 3 * draw.random()))
                processes.kill_one(draw)
        finally:
            found.calm()
            processes.stop()
        figures, faults = check(folder, catalog, kind)
    if faults:
        faults.append(f"the logs and files are in {folder}")
    else:
        shutil.rmtree(folder)
    return {"kills": processes.kills, **figures}, faults


def check(folder: pathlib.Path, catalog: dict[str, Any], kind: Kind) -> tuple[dict[str, Any], list[str]]:
    """Compares the tables with the logs, then removes orphans and compares again."""
    history = replay(folder)
    faults = list(history.faults)
    if kind.hidden:
        faults = [fault for fault in faults if ": torn at " not in fault]
        open_catalog(catalog).load_table("db.t").maintain.compact(strategy="full")
    rows, sizes = {}, Counter[str]()
    for name in kind.tables:
        table = open_catalog(catalog).load_table(name)
        rows[name] = table.scan().to_arrow().to_pylist()
        faults += differences(history.states, rows[name])
        faults += check_files(open_catalog(catalog), name, rows[name], kind, sizes)
    faults += apart(rows) if kind.joint else []
    counts = history.counts
    return {
        "commits": counts["done"],
        "conflicts": counts["not"],
        "unknown": counts["unknown"],
        "cut off": counts["cut off"],
        "reads": counts["reads"],
        "maintained": counts["maintained"],
        **sizes,
    }, faults


def check_files(
    catalog: fz.Catalog, name: str, rows: list[dict[str, Any]], kind: Kind, sizes: Counter[str]
) -> list[str]:
    """Removes a table's orphans, and reads all its versions."""
    table = catalog.load_table(name)
    removed = table.maintain.remove_orphan_files(older_than=dt.timedelta(0))
    faults = [f"an orphan could not be removed: {path}: {reason}" for path, reason in removed.failed.items()]
    table = catalog.load_table(name)
    after = table.scan().to_arrow().to_pylist()
    if sorted(map(repr, after)) != sorted(map(repr, rows)):
        faults.append("the rows differ after the removal of orphans")
    for snapshot in table.snapshots:
        try:
            torn = torn_groups(table.scan(at=snapshot.id).to_arrow().to_pylist())
        except fz.FrazilError as error:
            faults.append(f"snapshot {snapshot.id} can't be read after the removal of orphans: {error}")
            continue
        if torn and not kind.hidden:
            faults.append(f"snapshot {snapshot.id} has torn groups: {torn}")
    again = table.maintain.remove_orphan_files(older_than=dt.timedelta(0), dry_run=True)
    faults += [f"an orphan is left: {path}" for path in again.files]
    sizes.update({"rows": len(rows), "snapshots": len(table.snapshots), "orphans": len(removed.files)})
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=[], help=f"PLACE:KIND; all without any: {', '.join(CASES)}")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long each case runs")
    parser.add_argument("--processes", type=int, default=6, help="how many processes work at once")
    parser.add_argument("--seed", type=int, default=None, help="repeats the random choices, not their timing")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(1_000_000)
    failed = 0
    for case in arguments.cases or CASES:
        figures, faults = run_case(case, 60 * arguments.minutes, max(arguments.processes, len(ROLES) + 1), seed)
        told = ", ".join(f"{name} {value}" for name, value in figures.items())
        print(f"{'FAULT' if faults else 'right'}  {case}  seed {seed}: {told}", flush=True)
        for fault in faults[:50]:
            print(f"    {fault}", flush=True)
        failed += bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
