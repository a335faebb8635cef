"""FILES.md lists every source file by the first sentence of its own documentation."""

import subprocess
from pathlib import Path

from file_index import INDEX, ROOT, first_sentence, index, tracked


def test_the_list_is_current() -> None:
    written = (ROOT / INDEX).read_text("utf-8")
    assert written == index(ROOT, tracked(ROOT)), "`make files` writes the list again"


def test_a_file_is_listed_by_its_first_sentence(tmp_path: Path) -> None:
    (tmp_path / "src" / "store").mkdir(parents=True)
    (tmp_path / "src" / "store" / "mod.rs").write_text("//! Stores\n//! of files.\n\nmod a;\n")
    (tmp_path / "src" / "store" / "b.rs").write_text("//! Reads v1.5 of\n//! a file. Never writes.\n//!\n//! More.\n")
    (tmp_path / "src" / "store" / "a.rs").write_text("fn a() {}\n")
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "c.py").write_text('"""One line without a stop"""\n')
    paths = [Path("src/store/b.rs"), Path("src/store/mod.rs"), Path("src/store/a.rs"), Path("python/c.py")]
    parts = index(tmp_path, paths).split("\n## ")[1:]
    assert parts == [
        "python\n- `python/c.py`: One line without a stop\n",
        "src/store\n\nStores of files.\n- `src/store/b.rs`: Reads v1.5 of a file.\n",
    ]


def test_a_sentence_ends_at_its_stop() -> None:
    assert (
        first_sentence("Keys (e.g. `a.b`), in `~/.aws/config`. And more.") == "Keys (e.g. `a.b`), in `~/.aws/config`."
    )
    assert first_sentence("What follows:\n\n    code") == "What follows"


def test_no_link_is_tracked() -> None:
    """A link to a folder of one machine breaks every other clone."""
    command = ["git", "ls-files", "--stage"]
    rows = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(rows) > 1000
    assert not [row for row in rows if not row.startswith("100")]
