"""Times cold plans of large tables: Frazil, Java Iceberg, PyIceberg, the `iceberg` crate and DuckDB, in one run.

Every planner is a process of its own that is asked for one plan at a time; in each round every planner has its turn,
and medians are quoted. A cold plan opens the table again: everything from the metadata file to the last task. Each
planner is warmed by plans that do not count (the JVM by several). The floor is what inflating the same manifests costs
all cores. A planner that is missing or fails is said to be so in its row.

    python benches/planning/run.py [--tables t100k,p100k] [--filters none,day] [--peers java,pyiceberg] [--rounds 5]
                                   [--quick] [--warehouse DIR] [--write benches/RESULTS.md]
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import measures
from comparison import (
    add_run_options,
    in_turns,
    machine_line,
    markdown,
    names,
    patience_line,
    ratio,
    version_line,
    write_section,
)
from engines import ENGINES, Floor, Planner
from filters import TITLES
from tables import TABLES, make

# Which filters each table is planned with.
PLANS = {
    "t100k": ["none", "day", "metrics", "mixed"],
    "p100k": ["none", "metrics"],
    "e100k": ["none", "metrics"],
    "d100k": ["none", "metrics"],
    "s100k": ["none"],
    "t1m": ["none", "metrics"],
}
WARM_UPS = {"java": 4}


def plan_row(engines: list[Planner], table: Path, filter: str, rounds: int) -> dict[str, dict[str, Any]]:
    """For each engine its median seconds, tasks and deletes, or its error."""
    asks = {engine.name: partial(engine.plan, table, filter) for engine in engines}
    out = in_turns(asks, rounds, lambda name: WARM_UPS.get(name, 1), most=10)
    for name, answer in out.items():
        print(f"   {table.name}, {TITLES[filter]}: {name} {answer}", flush=True)
    return out


def cell(answer: dict[str, Any] | None, ours: float | None, tasks: int | None) -> str:
    """Seconds and how many times Frazil's; a count of tasks that differs from Frazil's is named."""
    if answer is None:
        return "–"
    if "error" in answer:
        return "fails"
    text = f"{answer['seconds']:.3f}"
    if ours:
        text += f" ({ratio(answer['seconds'], ours)})"
    if tasks is not None and answer["tasks"] not in (-1, tasks):
        text += f", {answer['tasks']:,} tasks"
    return text


def plans_table(rows: list[tuple[str, str, dict[str, dict[str, Any]], float | None]], peers: list[str]) -> list[str]:
    head = ["table", "filter", "tasks", "Frazil", "floor", "× floor", *(ENGINES[p].title for p in peers)]
    lines, notes = [], []
    for name, filter, answers, least in rows:
        own = answers["frazil"]
        ours, tasks = own.get("seconds"), own.get("tasks")
        cells = [
            TABLES[name].title,
            TITLES[filter],
            f"{tasks:,}" if tasks is not None else "–",
            cell(own, None, None),
            f"{least:.4f}" if least else "–",
            f"{ours / least:.2f}" if ours and least else "–",
            *(cell(answers.get(peer), ours, tasks) for peer in peers),
        ]
        lines.append(cells)
        said = {engine: answer["error"] for engine, answer in answers.items() if "error" in answer}
        notes += [
            f"- {TABLES[name].title}, {TITLES[filter]}: {ENGINES[e].title} says `{text}`" for e, text in said.items()
        ]
    return [*markdown(head, lines), *(["", "Failures:", "", *notes] if notes else [])]


def report(
    rows: list[tuple[str, str, dict[str, dict[str, Any]], float | None]],
    others: list[tuple[str, str]],
    engines: list[Planner],
    rounds: int,
) -> str:
    command = "python benches/planning/run.py " + " ".join(sys.argv[1:])
    lines = [
        f"Cold plans, seconds: median of {rounds} rounds in turns ({patience_line()}).",
        "In brackets: how many times Frazil's time.",
        "",
        f"{machine_line()}; {version_line(engines)}. Command: `{command.strip()}`.",
        "",
        *plans_table(rows, [engine.name for engine in engines if engine.name != "frazil"]),
    ]
    if others:
        lines += ["", *markdown(["measure", "result"], [[what, said] for what, said in others])]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    peers = [name for name in ENGINES if name != "frazil"]
    parser.add_argument("--tables", type=names(list(TABLES)), default=list(TABLES))
    parser.add_argument("--filters", type=names(list(TITLES)), default=list(TITLES))
    parser.add_argument("--peers", type=names(peers), default=peers)
    parser.add_argument("--measures", type=names(list(measures.MEASURES)), default=list(measures.MEASURES))
    add_run_options(parser, 7, "3 rounds, and not the table of 1,000,000 files", "planning")
    options = parser.parse_args()
    if options.quick:
        options.rounds = min(options.rounds, 3)
        options.tables = [name for name in options.tables if name != "t1m"]
    folders = {name: make(name, options.warehouse.resolve()) for name in options.tables}
    engines = [engine for name, engine in ENGINES.items() if name in ["frazil", *options.peers]]
    floor = Floor()
    rows = []
    for name, folder in folders.items():
        for filter in [f for f in PLANS[name] if f in options.filters]:
            rows.append(
                (name, filter, plan_row(engines, folder, filter, options.rounds), floor.seconds(folder, filter))
            )
    for engine in engines:
        engine.stop()
    others = [row for name in options.measures for row in measures.MEASURES[name](folders, options.rounds)]
    text = report(rows, others, engines, options.rounds)
    print(f"\n{text}")
    if options.write:
        write_section(options.write, "planning", text)


if __name__ == "__main__":
    main()
