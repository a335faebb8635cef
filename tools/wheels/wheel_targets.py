"""The wheels of a release that are built here: for which machines, how, and for which Pythons."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"


@dataclass(frozen=True)
class Target:
    """A kind of machine, by Rust's name and by that of the wheel."""

    rust: str
    wheel: str

    @property
    def machine(self) -> str:
        """The processor: x86_64 or aarch64."""
        return self.rust.split("-")[0]

    @property
    def is_musl(self) -> bool:
        """Whether the C library is musl, as in Alpine."""
        return self.rust.endswith("musl")


TARGETS = {
    "x86_64-gnu": Target("x86_64-unknown-linux-gnu", "manylinux_2_17"),
    "x86_64-musl": Target("x86_64-unknown-linux-musl", "musllinux_1_2"),
    "aarch64-gnu": Target("aarch64-unknown-linux-gnu", "manylinux_2_17"),
    "aarch64-musl": Target("aarch64-unknown-linux-musl", "musllinux_1_2"),
}
# One wheel for all Pythons with a global lock, and one for the Python without.
PYTHONS = {"abi3": "python3.10", "free-threaded": "python3.14t"}


def environment(target: Target, tools: Path) -> dict[str, str]:
    """The environment of a build: its tools first, and pages as large as any kernel of the processor may have."""
    out = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    out.pop("PYO3_PYTHON", None)
    if target.machine == "aarch64":
        # The allocator refuses to start where pages are larger than this. Kernels for ARM have pages of up to 64 KB.
        out["JEMALLOC_SYS_WITH_LG_PAGE"] = "16"
    return out


def build_command(target: Target, python: str) -> list[str]:
    """The command that builds a wheel. Zig links against the old C library that the wheel's name promises."""
    command = ["maturin", "build", "--release", "--locked", "--zig", "--target", target.rust]
    # The best compression saves 3 % of a wheel.
    command += ["--compression-level", "9"]
    return [*command, "--compatibility", target.wheel, "--interpreter", python, "--out", str(DIST)]
