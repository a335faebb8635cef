"""One process of a history: `worker.py SETTINGS NUMBER ROLE`. It works until the file `stop` appears, or it is killed.

A writer changes groups of rows of its own. It logs each step before and after: a step without an end was cut off. A
reader checks that no group is torn. A keeper compacts, expires and looks for orphans.
"""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import random
import sys
import time
from typing import Any

import pyarrow as pa
from places import KINDS, SCHEMA, open_catalog
from replay import torn_groups

import frazil as fz

LARGEST_GROUP = 5


class Worker:
    """What all roles have."""

    def __init__(self, settings: dict[str, Any], number: int) -> None:
        self.folder, self.number = pathlib.Path(settings["folder"]), number
        self.kind = KINDS[settings["kind"]]
        self.random = random.Random(f"{settings['seed']}-{number}")
        self.log = (self.folder / f"log-{number}.jsonl").open("a")
        self.catalog = open_catalog(settings["catalog"])
        self.table = self.catalog.load_table("db.t")
        self.groups: dict[str, int] = {}
        self.steps = 0

    def write(self, **members: Any) -> None:
        """One line, which a SIGKILL after this call does not take away."""
        self.log.write(json.dumps({"at": time.time(), **members}) + "\n")
        self.log.flush()

    def works(self) -> bool:
        return not (self.folder / "stop").exists()

    def rows(self, group: str, value: int) -> pa.Table:
        size = self.groups[group]
        columns = [[group] * size, list(range(size)), [size] * size, [value] * size]
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)

    def step(self) -> None:
        """Does one change, and logs how it ended."""
        self.steps += 1
        verb = self.random.choice(["append", "append", "update", "delete"] if self.groups else ["append"])
        if verb == "append":
            group, value = f"{self.number}-{self.steps}", 0
            self.groups[group] = self.random.randint(1, LARGEST_GROUP)
        else:
            group, value = self.random.choice(sorted(self.groups)), self.steps
        self.write(begin=self.steps, verb=verb, g=group, k=self.groups[group], v=value)
        how, reason = "done", None
        try:
            self.change(verb, group, value)
        except (fz.CommitConflictError, fz.NotFoundError) as error:
            # Not there: a file of a version that expired while the step read it.
            how, reason = "not", str(error)
        except (fz.CommitStateUnknownError, fz.StoreError) as error:
            how, reason = "unknown", str(error)
        self.write(end=self.steps, how=how, reason=reason)
        if how == "unknown" or (verb, how) in {("append", "not"), ("delete", "done")}:
            del self.groups[group]
        if how == "not":
            time.sleep(self.random.random() / 10)
            self.table.refresh()

    def change(self, verb: str, group: str, value: int) -> None:
        table, rows = self.table, self.rows(group, value)
        where = f"g = '{group}'"
        if self.kind.joint:
            self.change_all(verb, rows, where, value)
            return
        match verb, self.kind.keyed:
            case "append", False:
                table.append(rows)
            case "append" | "update", True:
                table.upsert(rows)
            case "update", False:
                if self.kind.format == "iceberg" and self.random.random() < 0.3:
                    table.upsert(rows, on=["g", "n"])
                else:
                    table.update(where, {"v": value})
            case "delete", True:
                table.delete_keys(rows)
            case _:
                table.delete(where)

    def change_all(self, verb: str, rows: pa.Table, where: str, value: int) -> None:
        """The same change of all tables, by one commit."""
        with self.catalog.transaction() as tx:
            for name in self.kind.tables:
                table = tx.table(name)
                match verb, self.random.random() < 0.3:
                    case "append", _:
                        table.append(rows)
                    case "update", True:
                        table.upsert(rows, on=["g", "n"])
                    case "update", False:
                        table.update(where, {"v": value})
                    case _:
                        table.delete(where)

    def choose(self) -> None:
        """Takes the newest version of one of the tables."""
        if self.kind.joint:
            self.table = self.catalog.load_table(self.random.choice(self.kind.tables))
        else:
            self.table.refresh()

    def look(self) -> None:
        """Reads the newest version, or an older one."""
        self.choose()
        at = None
        if self.table.snapshots and self.random.random() < 0.3:
            at = self.random.choice(self.table.snapshots).id
        try:
            found = self.table.scan(at=at).to_arrow().to_pylist()
        except fz.NotFoundError:
            return  # expired meanwhile
        self.write(read=len(found), torn=torn_groups(found), version=at)

    def keep(self) -> None:
        if self.kind.joint:
            self.choose()
        maintain, draw = self.table.maintain, self.random.randrange(4)
        try:
            if draw == 0 and self.kind.format == "iceberg":
                maintain.rewrite_manifests()
            elif draw < 2:
                full = self.random.random() < 0.3
                rules: dict[str, Any] = {"rewrite_all": full, "min_input_files": 2}
                maintain.compact(**rules if self.kind.format == "iceberg" else {"strategy": "full" if full else None})
            elif draw == 2:
                maintain.expire_snapshots(older_than=dt.timedelta(seconds=1), retain_last=10)
            else:
                found = maintain.remove_orphan_files()
                self.write(orphans=found.files)
        except (fz.CommitConflictError, fz.NotFoundError, fz.CommitStateUnknownError, fz.StoreError) as error:
            self.write(kept="not", reason=str(error))
        else:
            self.write(kept="done")


def main() -> None:
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text())
    worker = Worker(settings, int(sys.argv[2]))
    act = {"writer": worker.step, "reader": worker.look, "keeper": worker.keep}[sys.argv[3]]
    pause = {"writer": 0.0, "reader": 0.2, "keeper": 0.5}[sys.argv[3]]
    while worker.works():
        try:
            act()
        except Exception as error:
            worker.write(broken=f"{type(error).__name__}: {error}")
            raise
        time.sleep(pause)


if __name__ == "__main__":
    main()
