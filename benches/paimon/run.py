"""Times plans and reads of Paimon tables: Frazil, pypaimon-rust, pypaimon and Java Paimon, in one run.

Every engine is a process of its own that is asked for one thing at a time; in each round every engine has its turn, and
medians are quoted. Each is warmed by answers that do not count (the JVM by several). A cold plan opens the table again:
everything from the schema to the list of splits. A warm one is of a table that was opened and planned before. A read
opens the table again and ends with all rows in Arrow's memory; Java's rows are seen and dropped, one by one.

    python benches/paimon/run.py [--tables f100k,keyed] [--filters none,day] [--peers java,pypaimon] [--rounds 5]
                                 [--quick] [--warehouse DIR] [--write benches/RESULTS.md]
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from comparison import (
    Answer,
    Engine,
    add_run_options,
    in_turns,
    machine_line,
    markdown,
    names,
    patience_line,
    probe,
    ratio,
    version_line,
    write_section,
)
from engines import ENGINES, HERE, PEERS, paimon_python
from filters import TITLES
from tables import TABLES, make

HOWS = ["cold", "warm"]
READS = {"all": "all columns", "two": "2 of 12 columns"}
WARM_UPS = {"java": 4}


@dataclass(frozen=True)
class Line:
    """A row of the results: what is asked of a table."""

    table: str
    how: str
    asked: str

    def title(self) -> list[str]:
        return [TABLES[self.table].title, READS[self.asked] if self.how == "read" else TITLES[self.asked], self.how]


def lines_of(chosen: list[str], filters: list[str]) -> Iterator[Line]:
    for table in chosen:
        if TABLES[table].rows:
            yield from (Line(table, "read", asked) for asked in READS)
        else:
            yield from (Line(table, how, asked) for asked in filters for how in HOWS)


def measured(engines: list[Engine], line: Line, folder: Path, rounds: int) -> dict[str, Answer]:
    """For each engine its median seconds and what it counted, or its error."""
    asks = {engine.name: partial(engine.ask, f"{line.how} {folder} {line.asked}") for engine in engines}
    out = in_turns(asks, rounds, lambda name: WARM_UPS.get(name, 1), most=10)
    for name, answer in out.items():
        print(f"   {', '.join(line.title())}: {name} {answer}", flush=True)
    return out


def cell(answer: Answer | None, ours: float | None, count: int | None) -> str:
    """Seconds and how many times Frazil's; another count than Frazil's is named."""
    if answer is None:
        return "–"
    if "longer_than" in answer:
        return f"> {answer['longer_than']:.0f}"
    if "error" in answer:
        return "fails"
    text = f"{answer['seconds']:.4f}" if answer["seconds"] < 1 else f"{answer['seconds']:.2f}"
    if ours:
        text += f" ({ratio(answer['seconds'], ours)})"
    if count is not None and answer["count"] != count:
        text += f", **{answer['count']:,}**"
    return text


def table_of(found: dict[Line, dict[str, Answer]], peers: list[str], reads: bool) -> list[str]:
    """The lines of plans or of reads, failures below."""
    rows, notes = [], []
    for line, answers in found.items():
        if (line.how == "read") != reads:
            continue
        own = answers["frazil"]
        ours, count = own.get("seconds"), TABLES[line.table].rows or own.get("count")
        counted = f"{count:,}" if count is not None else "–"
        cells = [cell(own, None, count), *(cell(answers.get(peer), ours, count) for peer in peers)]
        title = line.title()
        rows.append([*(title[:2] if reads else title), counted, *cells])
        said = {engine: answer["error"] for engine, answer in answers.items() if "error" in answer}
        notes += [f"- {', '.join(title)}: {ENGINES[engine].title} says `{text}`" for engine, text in said.items()]
    head = ["read", "columns", "rows"] if reads else ["plan", "filter", "table", "splits"]
    table = markdown([*head, *(ENGINES[name].title for name in ["frazil", *peers])], rows) if rows else []
    return [*table, *(["", "Failures:", "", *notes] if notes else [])]


def processes(folder: Path, rounds: int) -> Iterator[tuple[str, str]]:
    """A plan as the first thing that a process does: the import of the library is not in it."""
    for name, python in (("frazil", sys.executable), ("pypaimon-rust", paimon_python()), ("pypaimon", paimon_python())):
        answers = [
            probe(HERE / "workers.py", name, "cold", str(folder), "none", python=python) for _ in range(max(rounds, 3))
        ]
        errors = [answer["error"] for answer in answers if "error" in answer]
        seconds = sorted(answer["seconds"] for answer in answers if "error" not in answer)
        said = errors[0] if errors else f"{seconds[len(seconds) // 2]:.4f} s"
        yield f"first plan of a process, {TABLES[folder.name].title}: {ENGINES[name].title}", said


def report(
    found: dict[Line, dict[str, Answer]], others: list[tuple[str, str]], engines: list[Engine], rounds: int
) -> str:
    command = "python benches/paimon/run.py " + " ".join(sys.argv[1:])
    peers = [engine.name for engine in engines if engine.name != "frazil"]
    lines = [
        f"Plans and reads of Paimon tables, seconds: median of {rounds} rounds in turns of up to ten answers"
        f" ({patience_line()}).",
        "In brackets: how many times Frazil's time. Other counts than Frazil's, of splits or rows, are in bold.",
        "",
        f"{machine_line()}; {version_line(engines)}. Command: `{command.strip()}`.",
    ]
    for reads in (False, True):
        if table := table_of(found, peers, reads):
            lines += ["", *table]
    if others:
        lines += ["", *markdown(["measure", "result"], [[what, said] for what, said in others])]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=names(list(TABLES)), default=list(TABLES))
    parser.add_argument("--filters", type=names(list(TITLES)), default=list(TITLES))
    parser.add_argument("--peers", type=names(PEERS), default=PEERS)
    add_run_options(parser, 7, "3 rounds, and not the table of 500,000 files", "paimon")
    options = parser.parse_args()
    if options.quick:
        options.rounds = min(options.rounds, 3)
        options.tables = [name for name in options.tables if name != "f500k"]
    warehouse = options.warehouse.resolve()
    folders = {name: make(name, warehouse) for name in options.tables}
    engines = [engine for name, engine in ENGINES.items() if name in ["frazil", *options.peers]]
    found = {
        line: measured(engines, line, folders[line.table], options.rounds)
        for line in lines_of(options.tables, options.filters)
    }
    for engine in engines:
        engine.stop()
    firsts = [folders[name] for name in ("f1200", "f100k") if name in folders]
    others = [row for folder in firsts for row in processes(folder, options.rounds)]
    text = (
        report(found, others, engines, options.rounds)
        .replace(f"{warehouse}/", "")
        .replace(f" --warehouse {options.warehouse}", "")
    )
    print(f"\n{text}")
    if options.write:
        write_section(options.write, "paimon", text)


if __name__ == "__main__":
    main()
