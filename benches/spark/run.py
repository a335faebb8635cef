"""Times Spark jobs: Frazil, Spark's Parquet source and Iceberg's connector, in one session of two cores.

Each job is run by every engine in turns, round by round, after one run each that does not count; medians are quoted,
by the clock and of the processor: this process, Spark's JVM and its Python workers together. The page cache is warm for
all. What a job finds must be the same for all engines.

    python benches/spark/run.py [--jobs full,append] [--rounds 5] [--quick] [--warehouse DIR] [--planning DIR]
                                [--plain-settings] [--write benches/RESULTS.md]
"""

import argparse
import os
import shutil
import sys
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
from comparison import (  # noqa: E402 - the folder above
    Answer,
    add_run_options,
    cache,
    in_turns,
    machine_line,
    markdown,
    names,
    write_section,
)
from planning import tables as planned  # noqa: E402
from reading import tables  # noqa: E402
from runtime_jar import COORDINATE  # noqa: E402 - of the interop tests

Answers = dict[tuple[str, str], Answer]

# What the guide recommends (docs/guide/pyspark.md, "Recommended settings"). Iceberg's connector sets the properties
# itself, for the whole JVM. Without this, they would depend on who runs first.
JAVA = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
SETTINGS = {"spark_python_unix_domain_socket_enabled": "true"}


def measure(names: list[str], rounds: int, warehouse: Path, planning: Path, quick: bool, plain: bool) -> Answers:
    """What each engine took for each job; `plain` says that Spark has its own settings."""
    from processes import keep_orphans
    from work import JOBS, QUICK, Bench, Sizes

    keep_orphans()
    sizes = QUICK if quick else Sizes()
    tables.make([sizes.base, sizes.deleted, *([sizes.large] if "large" in names else [])], warehouse)
    folder = planned.make("t100k", planning) if any(name.startswith("plan") for name in names) else planning
    out: Answers = {}
    java, settings = ("", {}) if plain else (JAVA, SETTINGS)
    with tables.spark_over(warehouse, java, spark_sql_adaptive_enabled="true", **settings) as spark:
        bench = Bench(spark, warehouse, folder, sizes)
        try:
            for name in names:
                job = JOBS[name]
                print(f"== {job.title}", flush=True)
                asks = {(name, engine): partial(job.ask, bench, engine) for engine in job.engines}
                found = in_turns(asks, rounds, measured=("seconds", "cpu"), least=rounds)
                for (_, engine), answer in found.items():
                    print(f"   {engine}: {answer}", flush=True)
                out |= found
        finally:
            shutil.rmtree(bench.scratch, ignore_errors=True)
    return out


def cell(answers: Answers, job: str, engine: str) -> str:
    """Seconds by the clock and of the processor, and between which the latter were."""
    answer = answers.get((job, engine))
    if answer is None:
        return "–"
    if "error" in answer:
        return "–" if "NotImplementedError" in answer["error"] else f"fails: `{answer['error']}`"
    spread = answer["runs"]["cpu"]
    return f"{answer['seconds']:.2f} / {answer['cpu']:.2f} ({min(spread):.2f}–{max(spread):.2f})"


def of(answers: Answers, job: str, ours: str, theirs: str) -> float | None:
    """Processor time as a share of the other's; none if either has none."""
    one, other = answers.get((job, ours), {}), answers.get((job, theirs), {})
    return one["cpu"] / other["cpu"] if "cpu" in one and "cpu" in other else None


def shown(share: float | None, most: float | None) -> str:
    if share is None:
        return "–"
    return f"{share:.2f}" + ("" if most is None else f" (goal {most:g}{'' if share <= most else ', **missed**'})")


def report(answers: Answers, rounds: int, quick: bool, plain: bool) -> str:
    import pyspark
    from work import ENGINES, JOBS

    import frazil as fz

    rows, odd = [], []
    for name, job in JOBS.items():
        if not any(key[0] == name for key in answers):
            continue
        cells = [cell(answers, name, engine) for engine in ENGINES]
        shares = [
            shown(of(answers, name, "frazil", "iceberg"), job.most),
            shown(of(answers, name, "arrow", "parquet"), job.most_arrow),
        ]
        rows.append([job.title, *cells, *shares])
        found = {engine: answers[name, engine].get("found") for engine in job.engines}
        if len({value for value in found.values() if value is not None}) > 1:
            odd.append(f"- {job.title}: not all found the same: {found}")
    head = ["job", *ENGINES.values(), "Frazil / Iceberg", "Arrow lane / Parquet"]
    small = "Small tables (`--quick`). " if quick else ""
    command = f"python benches/spark/run.py {' '.join(sys.argv[1:])}".strip()
    lines = [
        f"{small}Seconds by the clock / of the processor (least to most): medians of {rounds} rounds in turns.",
        f"Ratios are of processor time. Spark's settings are {'its own' if plain else 'those of the guide'}.",
        "",
        f"{machine_line()}; PySpark {pyspark.__version__} local[2], frazil {fz.__version__}, Iceberg's connector "
        f"{COORDINATE.rpartition(':')[2]}. Command: `{command}`.",
        "",
        *markdown(head, rows),
    ]
    return "\n".join([*lines, *(["", "Different results:", "", *odd] if odd else [])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    from work import JOBS

    parser.add_argument("--jobs", type=names(list(JOBS)), default=list(JOBS))
    parser.add_argument(
        "--planning", type=Path, default=cache() / "planning", help="where the table of 100,000 files is"
    )
    add_run_options(parser, 5, "2 rounds over a tenth of the rows", "reading")
    parser.add_argument("--plain-settings", action="store_true", help="without the settings that the guide recommends")
    options = parser.parse_args()
    rounds = min(options.rounds, 2) if options.quick else options.rounds
    folders = options.warehouse.resolve(), options.planning.resolve()
    answers = measure(options.jobs, rounds, *folders, options.quick, options.plain_settings)
    text = report(answers, rounds, options.quick, options.plain_settings)
    print(f"\n{text}")
    if options.write:
        write_section(options.write, "spark", text)


if __name__ == "__main__":
    main()
