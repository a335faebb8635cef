"""Where wheels are tried: pip installs each into an empty folder, and `smoke.py` runs with it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from wheel_targets import ROOT, TARGETS

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "frazil-wheels"
ROOTS = CACHE / "roots"
HOST_PYTHONS = ("python3.10", "python3.12", "python3.13", "python3.14", "python3.14t")
SECONDS = 900
IMPORTS = 5
IMPORT = "import time; begin = time.perf_counter(); import frazil; print(time.perf_counter() - begin)"


@dataclass(frozen=True)
class Place:
    """A Python in which a wheel is tried. `root` is a folder that becomes the root of the file system."""

    name: str
    target: str
    python: str
    root: Path | None = None
    emulated: bool = False
    spark: bool = False

    def command(self, *arguments: str) -> list[str]:
        """A command line that runs this Python with arguments."""
        start = [] if self.root is None else ["chroot", str(self.root)]
        return [*start, *(["/qemu-aarch64-static"] if self.emulated else []), self.python, *arguments]

    def folder(self) -> Path:
        """A new folder that this Python sees."""
        (inside := (self.root or Path("/")) / "tmp").mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="frazil-wheels-", dir=inside if self.root else None))

    def seen(self, path: Path) -> str:
        """A path as this Python sees it."""
        return str(path) if self.root is None else f"/{path.relative_to(self.root)}"

    def asked(self, code: str) -> str:
        """What this Python prints when it runs a line of code."""
        run = subprocess.run(self.command("-c", code), capture_output=True, text=True, timeout=SECONDS, check=True)
        return run.stdout.strip()

    def free_threaded(self) -> bool:
        """Whether this Python has no global lock."""
        return self.asked("import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)") == "1"


def roots() -> list[Place]:
    """The places that `roots.sh` makes. Those that are missing stay in the list, so that the table says so."""
    plain, free_threaded = "/opt/py314/bin/python3.14", "/opt/py314t/bin/python3.14t"
    made = [
        ("Debian 11 (glibc 2.31)", "x86_64-gnu", "glibc", plain),
        ("Debian 11 (glibc 2.31)", "x86_64-gnu", "glibc", free_threaded),
        ("a root with musl alone", "x86_64-musl", "musl", plain),
        ("a root with musl alone", "x86_64-musl", "musl", free_threaded),
        ("Debian 13 under qemu", "aarch64-gnu", "arm64", "/usr/bin/python3"),
        ("Debian 13 under qemu", "aarch64-gnu", "arm64", free_threaded),
        ("a root with musl alone, under qemu", "aarch64-musl", "arm64-musl", plain),
        ("a root with musl alone, under qemu", "aarch64-musl", "arm64-musl", free_threaded),
    ]
    return [
        Place(name, target, python, ROOTS / folder, emulated=target.startswith("aarch64"))
        for name, target, folder, python in made
    ]


def hosts() -> list[Place]:
    """The Pythons of this machine: on the path, of pyenv, and PySpark's of `make dev` if Java is there."""
    here = f"{platform.machine()}-{'gnu' if platform.libc_ver()[0] == 'glibc' else 'musl'}"
    libc = " ".join(platform.libc_ver()) or "musl"
    out = []
    for name in HOST_PYTHONS:
        pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{name.removeprefix('python')}.*/bin/{name}"))
        found = str(pyenv[-1]) if pyenv else shutil.which(name)
        if found is not None and here in TARGETS:
            out.append(Place(f"this machine ({libc})", here, found))
    own = ROOT / ".venv" / "bin" / "python"
    if shutil.which("java") and own.exists():
        out.append(Place(f"PySpark, this machine ({libc})", here, str(own), spark=True))
    return out


def fits_machine(wheel: Path, place: Place) -> bool:
    """Whether a wheel is for a place's processor and C library."""
    target = TARGETS[place.target]
    return target.machine in wheel.name and target.is_musl == ("musllinux" in wheel.name)


def fits_python(wheel: Path, place: Place) -> bool:
    """Whether a wheel is for a place's kind of Python. The place must be there."""
    return ("-cp314t-" in wheel.name) == place.free_threaded()


def abi(place: Place) -> str:
    """The tag of this place's Python, as `cp314t`."""
    version = place.asked("import sys; print('%d%d' % sys.version_info[:2])")
    return f"cp{version}{'t' if place.free_threaded() else ''}"


def tags(place: Place) -> list[str]:
    """The options by which pip takes wheels for this place on another machine."""
    target, own = TARGETS[place.target], abi(place)
    platforms = ["musllinux_1_2"] if target.is_musl else ["manylinux_2_28", "manylinux_2_17", "manylinux2014"]
    options = [option for name in platforms for option in ("--platform", f"{name}_{target.machine}")]
    options += ["--python-version", own.removeprefix("cp").removesuffix("t"), "--implementation", "cp"]
    return [*options, *(option for name in (own, "abi3", "none") for option in ("--abi", name))]


def pyarrow(place: Place) -> Path:
    """The folder with pip and with pyarrow for this place, as pip's own machine would fetch them."""
    folder = CACHE / "pyarrow" / f"{abi(place)}-{place.target}"
    if not list(folder.glob("pyarrow-*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(folder)]
        subprocess.run([*pip, *tags(place), "pyarrow"], check=True)
        subprocess.run([*pip, "pip"], check=True)
    return folder


def commands(place: Place, folder: Path) -> list[list[str]]:
    """What is run in a folder with the wheels: the installation, the programs that use it, and imports to be timed."""
    inside, pip = place.seen(folder), next(folder.glob("pip-*.whl"))
    options = ["install", "-q", "--no-cache-dir", "--root-user-action", "ignore", "--no-index"]
    # PySpark's Python has pyarrow. It needs only the wheel itself, in front of what `make dev` installed.
    options += ["--no-deps"] if place.spark else []
    if place.emulated:
        # An emulated pip runs the loader of musl to learn its version. The kernel refuses that.
        options += ["--only-binary", ":all:", *tags(place), "--find-links", str(folder), "--target", f"{folder}/site"]
        install = [sys.executable, f"{pip}/pip", *options, "frazil"]
    else:
        options += ["--find-links", inside, "--target", f"{inside}/site"]
        install = place.command(f"{place.seen(pip)}/pip", *options, "frazil")
    smoke = [f"{inside}/smoke.py", f"{inside}/README.md", *(["--spark"] if place.spark else [])]
    return [install, place.command(*smoke), *[place.command("-c", IMPORT)] * IMPORTS]


def error_line(text: str) -> str:
    """The line that names the last error, or else the last line. Errors of Java go on for many lines after it."""
    lines = text.strip().splitlines() or ["no message"]
    named = [line for line in lines if re.match(r"(: )?[A-Za-z_][\w.]*(Error|Exception|Interrupt)\b", line)]
    return (named or lines)[-1].removeprefix(": ")


def tried(wheel: Path, place: Place) -> str:
    """Installs a wheel and runs `smoke.py`: `ok: …`, or the last line of the error. Empty for another place's wheel."""
    if not fits_machine(wheel, place):
        return ""
    if place.root is not None and (os.geteuid() != 0 or not (place.root / place.python.lstrip("/")).exists()):
        return "not tried: " + ("needs root" if os.geteuid() else "missing (tools/wheels/roots.sh makes it)")
    folder = place.folder()
    try:
        if not fits_python(wheel, place):
            return ""
        for file in [wheel, *pyarrow(place).iterdir(), ROOT / "README.md", Path(__file__).with_name("smoke.py")]:
            shutil.copy(file, folder)
        inside = place.seen(folder)
        own = {"PYTHONPATH": f"{inside}/site", "HOME": inside, "TMPDIR": inside, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")} | own
        printed = []
        for command in commands(place, folder):
            run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
            if run.returncode:
                return f"FAILED: {error_line(run.stderr)[:150]}"
            printed.append((run.stdout.strip() or "no output").splitlines()[-1])
        fastest = min(map(float, printed[-IMPORTS:]))
        return f"{printed[1]}, imported in {1000 * fastest:.0f} ms"
    except subprocess.TimeoutExpired:
        return f"FAILED: no answer in {SECONDS} seconds"
    except subprocess.CalledProcessError as fault:
        return f"FAILED: {fault.cmd[0]} ended with {fault.returncode}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def newest_glibc(wheel: Path) -> str:
    """The newest version of glibc that the module asks for, by its table of symbols. Empty for musl."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(wheel, folder, "zip")
        module = next(Path(folder).glob("frazil/_core*.so"))
        listed = subprocess.run(["readelf", "-V", str(module)], capture_output=True, text=True, check=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", listed)}
    return ".".join(map(str, max(versions))) if versions else ""
