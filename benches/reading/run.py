"""Times reads to Arrow: Frazil, pyarrow.dataset, DuckDB, Polars, Daft and PyIceberg, in one run.

Every reader is a process of its own that is asked for one read at a time; in each round every reader has its turn, and
medians are quoted. Reads that are compared with each other (a scan without deletes and with each kind) share their
rounds. A read opens the table again. Its rows are held against the count that Java took when it wrote the table.

    python benches/reading/run.py [--reads full,dv] [--engines frazil,duckdb] [--measures memory] [--rounds 5]
                                  [--quick] [--warehouse DIR] [--write benches/RESULTS.md]
"""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import measures
from comparison import (
    Answer,
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
from engines import ENGINES, PEERS, Reader
from reads import GROUPS, READS
from tables import make

Answers = dict[tuple[str, str], Answer]
# The read without deletes that each read with deletes is held against.
PLAIN = {name: group[0] for group in GROUPS for name in group[1:]}


def read_all(engines: list[Reader], reads: list[str], warehouse: Path, rounds: int) -> Answers:
    """For each read and engine its median seconds and rows, or its error."""
    out: Answers = {}
    for group in GROUPS:
        asks = {
            (name, engine.name): partial(engine.read, READS[name], warehouse)
            for name in group
            if name in reads
            for engine in engines
        }
        if asks:
            print(f"== {', '.join(READS[name].title for name in group if name in reads)}", flush=True)
        found = in_turns(asks, rounds)
        for (name, engine_name), answer in found.items():
            print(f"   {READS[name].title}: {engine_name} {answer}", flush=True)
        out |= found
    return out


def cell(answer: Answer, ours: float | None, rows: int) -> str:
    """Seconds and how many times Frazil's; a wrong count of rows is named."""
    if "longer_than" in answer:
        return f"> {answer['longer_than']:.0f}"
    if "error" in answer:
        return "–" if "NotImplementedError" in answer["error"] else "fails"
    text = f"{answer['seconds']:.3f}"
    if ours:
        text += f" ({ratio(answer['seconds'], ours)})"
    if answer["rows"] != rows:
        text += f", **{answer['rows']:,} rows**"
    return text


def seconds(answers: Answers, read: str, engine: str) -> float | None:
    found = answers.get((read, engine), {})
    return None if "error" in found else found.get("seconds")


def best(answers: Answers, read: str, rows: int) -> str:
    """The fastest peer with the right rows, by Frazil's time: what the goals speak of."""
    ours = seconds(answers, read, "frazil")
    right = [
        (found["seconds"], ENGINES[peer].title)
        for peer in PEERS
        if "error" not in (found := answers.get((read, peer), {"error": ""})) and found["rows"] == rows
    ]
    if not right or not ours:
        return "–"
    fastest, title = min(right)
    return f"{fastest / ours:.2f}× ({title})"


def reads_table(answers: Answers, engines: list[Reader], counts: dict[str, int]) -> list[str]:
    """A row for each read; failures below."""
    lines = []
    failures: dict[tuple[str, str], list[str]] = {}
    for name, rows in counts.items():
        ours = seconds(answers, name, "frazil")
        found = {engine.name: answers[name, engine.name] for engine in engines}
        cells = [cell(answer, None if engine == "frazil" else ours, rows) for engine, answer in found.items()]
        lines.append([READS[name].title, f"{rows:,}", *cells, best(answers, name, rows)])
        for engine, answer in found.items():
            if cell(answer, ours, rows) == "fails":
                failures.setdefault((engine, answer["error"]), []).append(READS[name].title)
    head = ["read", "rows", *(engine.title for engine in engines), "fastest peer / Frazil"]
    notes = [f"- {ENGINES[engine].title}, {'; '.join(of)}: `{error}`" for (engine, error), of in failures.items()]
    return [*markdown(head, lines), *(["", "Failures:", "", *notes] if notes else [])]


def costs_table(answers: Answers, engines: list[Reader]) -> list[str]:
    """By how much deletes lengthen each engine's read."""
    rows = []
    for name, plain in PLAIN.items():
        cells = []
        for engine in engines:
            with_deletes, without = seconds(answers, name, engine.name), seconds(answers, plain, engine.name)
            cells.append(f"{with_deletes / without - 1:+.0%}" if with_deletes and without else "–")
        if any(text != "–" for text in cells):
            rows.append([READS[name].title, *cells])
    return markdown(["cost of deletes", *(engine.title for engine in engines)], rows) if rows else []


def report(
    answers: Answers,
    engines: list[Reader],
    counts: dict[str, int],
    others: list[tuple[str, str]],
    rounds: int,
) -> str:
    command = "python benches/reading/run.py " + " ".join(sys.argv[1:])
    # A library that no environment has, or an option that Frazil has not, needs no column.
    engines = [
        engine
        for engine in engines
        if any("NotImplementedError" not in answers[name, engine.name].get("error", "") for name in counts)
    ]
    lines = [
        f"Reads to Arrow, seconds: median of {rounds} rounds in turns ({patience_line()}).",
        "In brackets: how many times Frazil's time. Wrong counts of rows are in bold.",
        "",
        f"{machine_line()}; {version_line(engines)}. Command: `{command.strip()}`.",
    ]
    if counts and engines:
        lines += ["", *reads_table(answers, engines, counts)]
    if costs := costs_table(answers, engines):
        lines += ["", *costs]
    if others:
        lines += ["", *markdown(["measure", "result"], [[what, said] for what, said in others])]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=names(list(READS)), default=list(READS))
    parser.add_argument("--engines", type=names(list(ENGINES)), default=list(ENGINES))
    parser.add_argument("--measures", type=names(list(measures.MEASURES)), default=list(measures.MEASURES))
    add_run_options(parser, 5, "2 rounds", "reading")
    options = parser.parse_args()
    rounds = min(options.rounds, 2) if options.quick else options.rounds
    warehouse = options.warehouse.resolve()
    reads = [name for name in READS if name in options.reads]
    counted = make(sorted({READS[name].table for name in reads}), warehouse)
    counts = {name: counted[READS[name].table][READS[name].counted] for name in reads}
    engines = [engine for name, engine in ENGINES.items() if name in options.engines]
    answers = read_all(engines, reads, warehouse, rounds)
    for engine in engines:
        engine.stop()
    others = [row for name in options.measures for row in measures.MEASURES[name](reads, warehouse, rounds)]
    text = report(answers, engines, counts, others, rounds).replace(f"{warehouse}/", "")
    print(f"\n{text}")
    if options.write:
        write_section(options.write, "reading", text)


if __name__ == "__main__":
    main()
