"""Makes the source package: `python tools/sdist.py [--out dist]`. It builds without a network, given maturin and Rust.

The package of maturin gets the sources of the crates in the folder `vendor`, and a configuration of cargo for them.
Crates that only Windows, Android or the tests need are left empty, because cargo looks for their names alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Systems that can build from source. Windows and macOS have wheels; a build from source for macOS works as well.
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-musl", "aarch64-apple-darwin", "x86_64-unknown-freebsd"]
UNREAD = ("benches", "docs", "examples", "fuzz", "test-data", "tests")
USE_VENDORED = '\n[source.crates-io]\nreplace-with = "vendored"\n\n[source.vendored]\ndirectory = "vendor"\n'


def needed() -> set[str]:
    """The folders of the crates that a build needs on one of the systems."""
    out = set()
    for target in TARGETS:
        command = ["cargo", "tree", "--locked", "--features", "python", "--edges", "normal,build", "--target", target]
        command += ["--prefix", "none", "--format", "{p}"]
        run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        for line in run.stdout.splitlines():
            name, version = line.split()[:2]
            out.add(f"{name}-{version.removeprefix('v')}")
    return out


def shortened(crate: Path, is_needed: bool) -> None:
    """Removes from a vendored crate what no build reads: its tests, or all but the manifest and an empty library."""
    sums = json.loads((crate / ".cargo-checksum.json").read_text("utf-8"))
    manifest = (crate / "Cargo.toml").read_text("utf-8")
    if is_needed:
        for name in UNREAD:
            shutil.rmtree(crate / name, ignore_errors=True)
        sums["files"] = {name: sum_ for name, sum_ in sums["files"].items() if (crate / name).exists()}
    else:
        shutil.rmtree(crate)
        (crate / "src").mkdir(parents=True)
        (crate / "src" / "lib.rs").write_text("")
        (crate / "Cargo.toml").write_text(manifest, "utf-8")
        sums["files"] = {}
    (crate / ".cargo-checksum.json").write_text(json.dumps(sums))


def vendored(folder: Path) -> None:
    """The sources of all crates in a folder, without those that no system needs."""
    command = ["cargo", "vendor", "--locked", "--versioned-dirs", "--quiet", str(folder)]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    keep = needed()
    for crate in sorted(folder.iterdir()):
        shortened(crate, crate.name in keep)


def packed(source: Path, target: Path) -> None:
    """A folder as an archive that is the same each time: names in order, no owners and no times."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        return info

    with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as out, tarfile.open(None, "w", out) as archive:
        archive.add(source, source.name, filter=plain)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out", type=Path, default=ROOT / "dist")
    out = arguments.parse_args().out.resolve()
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)]
        subprocess.run(command, cwd=ROOT, check=True)
        made = next(folder.glob("*.tar.gz"))
        with tarfile.open(made) as archive:
            archive.extractall(folder / "x", filter="data")
        source = next((folder / "x").iterdir())
        vendored(source / "vendor")
        configuration = source / ".cargo" / "config.toml"
        configuration.write_text(configuration.read_text("utf-8") + USE_VENDORED, "utf-8")
        # A build that was stopped leaves no half of a package.
        packed(source, folder / "whole.tar.gz")
        shutil.move(folder / "whole.tar.gz", out / made.name)
    print(f"{out / made.name}: {(out / made.name).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
