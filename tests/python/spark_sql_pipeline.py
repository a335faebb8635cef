"""A pipeline of SQL statements, which goes on where it was killed.

python spark_sql_pipeline.py FOLDER MASTER     runs the steps that FOLDER/progress lacks; the folder's name is the seed
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Rows = dict[int, tuple[str, int]]
"""Column `g` and column `v`, by column `id`."""

STEPS = 16
TABLE = "lake.db.t"


@dataclass(frozen=True)
class Step:
    """A statement, and what it does to the rows."""

    statement: str
    change: Callable[[Rows], Rows]


def group(id_: int) -> str:
    return "abc"[id_ % 3]


GROUP = "element_at(array('a', 'b', 'c'), int(id % 3) + 1)"


def insert(first: int) -> Step:
    text = f"INSERT INTO {TABLE} SELECT id, {GROUP} AS g, id * 2 AS v FROM range({first}, {first + 40}, 1, 3)"
    return Step(text, lambda rows: rows | {i: (group(i), i * 2) for i in range(first, first + 40)})


def merge(first: int, at: int) -> Step:
    text = (
        f"MERGE INTO {TABLE} AS t USING (SELECT id, {GROUP} AS g, id AS v FROM range({at}, {first + 10}, 1, 3)) AS s "
        "ON t.id = s.id WHEN MATCHED AND t.v % 5 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = t.v + s.v "
        "WHEN NOT MATCHED AND s.id % 2 = 0 THEN INSERT *"
    )

    def change(rows: Rows) -> Rows:
        after = dict(rows)
        for i in range(at, first + 10):
            if i not in rows:
                if i % 2 == 0:
                    after[i] = (group(i), i)
            elif rows[i][1] % 5 == 0:
                del after[i]
            else:
                after[i] = (rows[i][0], rows[i][1] + i)
        return after

    return Step(text, change)


def update(k: int) -> Step:
    text = f"UPDATE {TABLE} SET v = v * 3 + length(g), g = concat('', g) WHERE id % 4 = {k} AND length(g) = 1"
    return Step(text, lambda rows: {i: (g, v * 3 + 1) if i % 4 == k else (g, v) for i, (g, v) in rows.items()})


def delete(k: int) -> Step:
    text = f"DELETE FROM {TABLE} WHERE (id + v) % 11 = {k} AND length(g) = 1"
    return Step(text, lambda rows: {i: (g, v) for i, (g, v) in rows.items() if (i + v) % 11 != k})


def steps(seed: int) -> list[Step]:
    """The same steps each time."""
    dice, first = random.Random(seed), 0
    made = []
    for number in range(STEPS):
        kind = "insert" if number == 0 else dice.choice(["insert", "merge", "merge", "update", "delete"])
        if kind == "insert":
            made.append(insert(first))
            first += 40
        elif kind == "merge":
            made.append(merge(first, dice.randrange(first)))
            first += 10
        else:
            made.append(update(dice.randrange(4)) if kind == "update" else delete(dice.randrange(11)))
    return made


def main(folder: Path, master: str) -> None:
    from pyspark.sql import SparkSession

    import frazil as fz

    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.task.maxFailures", "20")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.frazil.changes.driver-max-rows", "0")
        .config("spark.frazil.changes.driver-max-bytes", "0")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    lake = fz.catalog("lake", warehouse=folder / "lake")
    progress = folder / "progress"
    done = int(progress.read_text()) if progress.exists() else 0
    for number, step in enumerate(steps(int(folder.name))):
        if number >= done:
            fz.spark.sql(spark, step.statement, catalogs={"lake": lake}, job_id=f"step {number}").collect()
            new = progress.with_suffix(".new")
            new.write_text(str(number + 1))
            new.replace(progress)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
