"""Checks by pyright that the examples of README.md and docs/, and the programs in examples/, are typed.

Each page is one program, made as `tests/docs/test_examples.py` makes it. What the types of other libraries lack is no
fault of a page. In `tests/docs/typed_habits.py`, the lines that end with `# refused` must be faults, and no others.

    python tools/check_types.py
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "docs"))

from test_examples import PAGES, program  # noqa: E402

# pyarrow has no types, and duckdb.sql() gives nothing for statements that are no queries.
OF_OTHERS = re.compile(
    r'of module "pyarrow[\w.]*"|"(fetchall|fetchone|to_arrow_table|to_arrow_reader)" is not a known attribute of "None"'
)
HABITS = ROOT / "tests" / "docs" / "typed_habits.py"


def write_programs(folder: Path) -> dict[str, str]:
    """Writes every page as a program, and returns the pages by the programs' names."""
    sources = {page: program(page) for page in PAGES}
    sources |= {path: path.read_text("utf-8") for path in [*sorted((ROOT / "examples").glob("*.py")), HABITS]}
    pages = {}
    for number, (page, source) in enumerate(sources.items()):
        name = f"page_{number}.py"
        (folder / name).write_text(source, "utf-8")
        pages[name] = page.relative_to(ROOT).as_posix()
    return pages


def refused() -> list[str]:
    """The lines of habits that are mistakes."""
    name, lines = HABITS.relative_to(ROOT).as_posix(), HABITS.read_text("utf-8").splitlines()
    return [f"{name}:{number}" for number, line in enumerate(lines, 1) if line.endswith("# refused")]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pages = write_programs(Path(folder))
        settings = {"pythonVersion": "3.11", "typeCheckingMode": "standard", "reportMissingModuleSource": False}
        settings["extraPaths"] = [str(ROOT / "python")]
        (Path(folder) / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except (ValueError, KeyError):
        sys.exit(f"pyright does not run: {done.stderr or done.stdout}")
    faults = {
        f"{pages[Path(fault['file']).name]}:{fault['range']['start']['line'] + 1}": fault["message"]
        for fault in found
        if not OF_OTHERS.search(fault["message"])
    }
    for where in refused():
        if faults.pop(where, None) is None:
            faults[where] = "this line must be a fault"
    for where, message in faults.items():
        print(f"{where}: {message}")
    print(f"{len(pages)} pages and programs, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
