"""Times cold plans of large tables: Frazil beside Java Iceberg, PyIceberg, the `iceberg` crate and DuckDB, in one run.

Every planner is a process of its own that is asked for one plan at a time; in each round every planner has its turn,
and medians are quoted. A cold plan opens the table anew: everything from the metadata file to the last task. Each
planner is warmed by plans that do not count (the JVM by several). The floor is what inflating the same manifests costs
all cores. A planner that is missing or fails is said to be so in its row.

    python benches/planning/run.py [--tables t100k,p100k] [--filters none,day] [--peers java,pyiceberg] [--rounds 5]
                                   [--quick] [--warehouse DIR] [--write benches/RESULTS.md]
"""

import argparse
import os
import platform
import statistics
import sys
from pathlib import Path
from typing import Any

import measures
from engines import ENGINES, Engine, Floor, version_line
from filters import TITLES
from tables import TABLES, cache, make

START, END = "<!-- planning -->", "<!-- /planning -->"
# Which filters each table is planned with.
PLANS = {
    "t100k": ["none", "day", "metrics", "mixed"],
    "p100k": ["none", "metrics"],
    "e100k": ["none", "metrics"],
    "d100k": ["none", "metrics"],
    "s100k": ["none"],
    "t1m": ["none", "metrics"],
}
# Rounds that a planner takes part in, by the seconds its first plan took: nobody waits for the tenth of 90 seconds.
PATIENCE = [(20.0, 1), (4.0, 3)]
WARM_UPS = {"java": 4}


def rounds_of(first: float, rounds: int) -> int:
    return next((min(rounds, most) for seconds, most in PATIENCE if first > seconds), rounds)


def plan_row(engines: list[Engine], table: Path, filter: str, rounds: int) -> dict[str, dict[str, Any]]:
    """For each engine its median seconds, tasks and deletes, or its error."""
    out: dict[str, dict[str, Any]] = {}
    taken: dict[str, list[float]] = {engine.name: [] for engine in engines}
    wanted: dict[str, int] = {}
    for engine in engines:
        for _ in range(WARM_UPS.get(engine.name, 1)):
            out[engine.name] = engine.plan(table, filter)
            if "error" in out[engine.name]:
                break
        wanted[engine.name] = rounds_of(out[engine.name].get("seconds", 0), rounds)
    for number in range(rounds):
        for engine in engines:
            if number < wanted[engine.name] and "error" not in out[engine.name]:
                answer = engine.plan(table, filter)
                out[engine.name] |= answer
                taken[engine.name].append(answer.get("seconds", float("nan")))
    for name, seconds in taken.items():
        if "error" not in out[name]:
            out[name] |= {"seconds": statistics.median(seconds), "rounds": len(seconds)}
        print(f"   {table.name}, {TITLES[filter]}: {name} {out[name]}", flush=True)
    return out


def ratio(theirs: float, ours: float) -> str:
    value = theirs / ours
    return f"{value:.0f}×" if value >= 20 else f"{value:.1f}×"


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
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    notes = []
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
        lines.append("| " + " | ".join(cells) + " |")
        said = {engine: answer["error"] for engine, answer in answers.items() if "error" in answer}
        notes += [
            f"- {TABLES[name].title}, {TITLES[filter]}: {ENGINES[e].title} says `{text}`" for e, text in said.items()
        ]
    return [*lines, *(["", "Failures:", "", *notes] if notes else [])]


def report(
    rows: list[tuple[str, str, dict[str, dict[str, Any]], float | None]],
    others: list[tuple[str, str]],
    engines: list[Engine],
    rounds: int,
) -> str:
    model = next((ln.split(":", 1)[1].strip() for ln in _cpuinfo() if ln.startswith("model name")), platform.machine())
    command = "python benches/planning/run.py " + " ".join(sys.argv[1:])
    patience = ", ".join(f"{most} of planners slower than {seconds:.0f} s" for seconds, most in PATIENCE)
    lines = [
        f"Cold plans, seconds: median of {rounds} rounds in turns ({patience}).",
        "In brackets: how many times Frazil's time.",
        "",
        f"{os.cpu_count()} cores, {model}; {version_line(engines)}. Command: `{command.strip()}`.",
        "",
        *plans_table(rows, [engine.name for engine in engines if engine.name != "frazil"]),
    ]
    if others:
        lines += ["", "| measure | result |", "|---|---|", *(f"| {what} | {said} |" for what, said in others)]
    return "\n".join(lines)


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def write_section(path: Path, text: str) -> None:
    """Replaces the part of the results page between this benchmark's marks."""
    page = path.read_text("utf-8")
    before, rest = page.split(START, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{START}\n{text}\n{END}{after}", "utf-8")


def names(known: list[str]) -> Any:
    def parse(text: str) -> list[str]:
        found = [name for name in text.split(",") if name]
        if odd := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"{odd[0]} is none of {', '.join(known)}")
        return found

    return parse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    peers = [name for name in ENGINES if name != "frazil"]
    parser.add_argument("--tables", type=names(list(TABLES)), default=list(TABLES))
    parser.add_argument("--filters", type=names(list(TITLES)), default=list(TITLES))
    parser.add_argument("--peers", type=names(peers), default=peers)
    parser.add_argument("--measures", type=names(list(measures.MEASURES)), default=list(measures.MEASURES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="3 rounds, and not the table of 1,000,000 files")
    parser.add_argument("--warehouse", type=Path, default=cache() / "planning", help="where the tables are kept")
    parser.add_argument("--write", type=Path, help="results page to put the measures into")
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
        write_section(options.write, text)


if __name__ == "__main__":
    main()
