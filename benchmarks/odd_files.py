"""Files that are damaged and commands that make no sense: is there always an answer in words?

    python benchmarks/odd_files.py

Every case has a seed of its own. What fails is named on stderr with its kind and number, and
`--kind` and `--number` make it again. Runs in one process, with a limit of time for every command.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.util import get_temp_dir
from pathlib import Path
from types import FrameType
from typing import Any

from click.testing import CliRunner
from odd_commands import random_command
from odd_inputs import FILES, lay_out, mutated, tidy_up
from tables import RESULTS, Column, number, save, show

import dpaudit.cli.audit
from dpaudit.cli import main as commands

SEED = 20_261_119
MAX_SECONDS = 5.0  # of a command
CALLS = "random commands"
_ANSWERS, _REFUSED = (0, 1, 3), 2
_MAX_SAID = 600  # characters of what a command said before it failed
_FRESH_EVERY = 20  # commands that find the files as the ones before left them


class TooLong(BaseException):
    """A command took longer than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command did."""

    code: int
    output: str
    seconds: float
    wrong: str  # what is wrong with it; empty if nothing is


@dataclass(slots=True, kw_only=True)
class Summed:
    """All cases of a kind: a line of the table and of the CSV."""

    kind: str
    count: int = 0
    refused: int = 0
    answered: int = 0
    tracebacks: int = 0
    other_exits: int = 0
    too_slow: int = 0
    other_audits: int = 0  # of stores that were read: not the audit that they are of
    slowest_seconds: float = 0.0

    def add(self, answer: Answer) -> None:
        """Count one more case."""
        self.count += 1
        self.refused += not answer.wrong and answer.code == _REFUSED
        self.answered += not answer.wrong and answer.code in _ANSWERS
        self.tracebacks += answer.wrong == "traceback"
        self.other_exits += answer.wrong == "exit"
        self.too_slow += answer.wrong == "slow"
        self.other_audits += answer.wrong == "another audit"
        self.slowest_seconds = max(self.slowest_seconds, answer.seconds)


def asked(arguments: Sequence[str]) -> Answer:
    """Run a command in this process, and judge how it ends."""
    late = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal late
        late = True
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    start = time.perf_counter()
    try:
        result = _runner().invoke(commands, list(arguments), prog_name="dpaudit")
    except TooLong:
        result = None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    seconds = time.perf_counter() - start
    if late or result is None or seconds > MAX_SECONDS:
        return Answer(code=-1, output="", seconds=seconds, wrong="slow")
    said = f"{result.stdout}\n{result.stderr}"
    wrong = ""
    if "Traceback" in said or not isinstance(result.exception, SystemExit | None):
        wrong, said = "traceback", f"{said}\n{result.exception!r}"
    elif result.exit_code not in (*_ANSWERS, _REFUSED):
        wrong = "exit"
    return Answer(code=result.exit_code, output=said, seconds=seconds, wrong=wrong)


def _runner() -> CliRunner:
    """It keeps `stdout` and `stderr` apart, which click 8.1 does only when told so."""
    import inspect

    mixes = "mix_stderr" in inspect.signature(CliRunner).parameters
    options: dict[str, Any] = {"mix_stderr": False} if mixes else {}
    return CliRunner(**options)


@contextmanager
def in_empty_folder() -> Iterator[Path]:
    """A working folder, with a home and a folder for temporary files beside it.

    Matplotlib keeps a list of fonts, which has a folder too.
    """
    get_temp_dir()  # of multiprocessing, which removes it at the very end
    patience = dpaudit.cli.audit._SECONDS_TO_CONNECT
    setattr(dpaudit.cli.audit, "_SECONDS_TO_CONNECT", 0.5)  # noqa: B010
    before, environment, path = Path.cwd(), dict(os.environ), list(sys.path)
    with tempfile.TemporaryDirectory() as base:
        for name in ("here", "home", "temporary", "matplotlib"):
            (Path(base) / name).mkdir()
        os.environ["HOME"] = str(Path(base) / "home")
        os.environ["TMPDIR"] = str(Path(base) / "temporary")
        os.environ["MPLCONFIGDIR"] = str(Path(base) / "matplotlib")
        tempfile.tempdir = None
        os.chdir(Path(base) / "here")
        try:
            yield Path(base)
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
            sys.path[:] = path
            tempfile.tempdir = None
            setattr(dpaudit.cli.audit, "_SECONDS_TO_CONNECT", patience)  # noqa: B010
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None)).startswith(base):
                    del sys.modules[name]


_written: set[str] = set()  # outside of the folder
_watched: list[str] = []  # the folders that may be written to, while that is watched
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = frozenset({"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink"})


def _see(event: str, given: tuple[Any, ...]) -> None:
    """Python tells of every file that it opens or changes, and of every database."""
    if not _watched:
        return
    if event == "open":
        path, _, flags = given
        changes = isinstance(flags, int) and bool(flags & _WRITES)
    else:
        path, changes = (given or ("",))[0], event in _CHANGES or event == "sqlite3.connect"
    if not changes or not isinstance(path, str | bytes | os.PathLike):
        return
    place = os.path.abspath(os.fsdecode(path))
    if place != os.devnull and not place.startswith(tuple(_watched)):
        _written.add(f"{event} {place}")


@contextmanager
def watched(base: Path) -> Iterator[None]:
    """Note what is written outside of a folder; it cannot be unlearnt, only be switched off."""
    if not getattr(_see, "added", False):
        sys.addaudithook(_see)
        _see.added = True  # type: ignore[attr-defined]
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    _watched.extend(f"{folder}{os.sep}" for folder in (base, get_temp_dir()))
    try:
        yield
    finally:
        _watched.clear()
        sys.dont_write_bytecode = bytecode


def strays(base: Path) -> list[str]:
    """What was written outside of the working folder."""
    here, fonts, expected = base / "here", base / "matplotlib", {"here", "home", "temporary"}
    found = [path for path in base.rglob("*") if not path.is_relative_to(here)]
    found = [path for path in found if not path.is_relative_to(fonts)]
    return sorted(_written) + [
        str(path) for path in found if path.parent != base or path.name not in expected
    ]


def file_case(kind: str, place: int) -> list[str]:
    """Damage a file; the command that reads it."""
    rng = random.Random(f"{SEED} {kind} {place}")
    form = FILES[kind]
    source = rng.choice(form.sources)
    tidy_up()
    name = f"odd{Path(source).suffix}"
    Path(name).write_bytes(mutated(Path(source).read_bytes(), name, rng))
    return form.command(name, source, rng)


def call_case(place: int) -> list[str]:
    """A command of any options and values."""
    rng = random.Random(f"{SEED} {CALLS} {place}")
    if place % _FRESH_EVERY == 0:
        lay_out(Path())
    return random_command(rng)


def run_files(kind: str, places: Sequence[int], tell: Callable[[int, str, Answer], None]) -> Summed:
    """Damage files of one kind, and give them to a command."""
    found = Summed(kind=kind)
    right = _without_seconds(asked(FILES[kind].whole).output) if FILES[kind].whole else ""
    for place in places:
        arguments = file_case(kind, place)
        answer = asked(arguments)
        if right and answer.code in _ANSWERS and _without_seconds(answer.output) != right:
            answer = Answer(
                code=answer.code,
                output=answer.output,
                seconds=answer.seconds,
                wrong=answer.wrong or "another audit",
            )
        found.add(answer)
        if answer.wrong:
            tell(place, kind, answer)
    tidy_up()
    return found


def _without_seconds(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith('"seconds"'))


def run_calls(places: Sequence[int], tell: Callable[[int, str, Answer], None]) -> Summed:
    """Run commands of random options and values."""
    found = Summed(kind=CALLS)
    for place in places:
        answer = asked(call_case(place))
        found.add(answer)
        if answer.wrong:
            tell(place, CALLS, answer)
    return found


def _tell(place: int, kind: str, answer: Answer) -> None:
    said = " / ".join(answer.output.strip().splitlines()[-3:])[-_MAX_SAID:]
    how = f"{answer.wrong} {answer.code}, {answer.seconds:.1f} s"
    print(f"{kind}, number {place}: {how}: {said}", file=sys.stderr, flush=True)


COLUMNS: list[Column[Summed]] = [
    Column("kind", lambda row: row.kind, "left"),
    Column("count", lambda row: number(row.count)),
    Column("refused", lambda row: number(row.refused)),
    Column("answered", lambda row: number(row.answered)),
    Column("tracebacks", lambda row: number(row.tracebacks)),
    Column("other\nexits", lambda row: number(row.other_exits)),
    Column("above\n5 s", lambda row: number(row.too_slow)),
    Column("other\naudits", lambda row: number(row.other_audits)),
    Column("slowest\nseconds", lambda row: number(row.slowest_seconds, 1)),
]
NOTES = (
    "refused: one line of an error, exit code 2; answered: exit code 0, 1 or 3.\n"
    "other audits: a damaged store that was read, and gave another audit than the whole one."
)


def shares(count: int) -> dict[str, int]:
    """How many of all files are of each kind."""
    total = sum(form.share for form in FILES.values())
    parts = {kind: count * form.share // total for kind, form in FILES.items()}
    parts[next(iter(parts))] += count - sum(parts.values())
    return parts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Damaged files, and commands at random.")
    parser.add_argument("--files", type=int, default=10_000, help="damaged files")
    parser.add_argument("--calls", type=int, default=5_000, help="random commands")
    parser.add_argument("--kind", help="only this kind")
    parser.add_argument("--number", type=int, help="only the case of this number, with its output")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the results")
    options = parser.parse_args(arguments)
    counts = {**shares(options.files), CALLS: options.calls}
    rows = []
    with in_empty_folder() as base:
        lay_out(Path())
        if options.number is not None:
            return _once(options.kind, options.number)
        with watched(base):
            for kind in [one for one in counts if options.kind in (None, one)]:
                start, places = time.monotonic(), range(counts[kind])
                run = run_calls if kind == CALLS else _of_kind(kind)
                rows.append(run(places, _tell))
                seconds = time.monotonic() - start
                print(f"{kind}: {len(places)}, {seconds:.0f} s", file=sys.stderr, flush=True)
        outside = strays(base)
    show("Damaged files and random commands", COLUMNS, rows, NOTES)
    print(f"Written outside of the folder: {', '.join(outside) or 'nothing'}.")
    save(rows, folder=options.results, name="odd_files", complete=options.kind is None)
    good = all(row.refused + row.answered == row.count for row in rows)
    return 0 if good and not outside else 1


def _of_kind(kind: str) -> Callable[..., Summed]:
    return lambda places, tell: run_files(kind, places, tell)


def _once(kind: str, place: int) -> int:
    if kind == CALLS:
        for before in range(place - place % _FRESH_EVERY, place):
            asked(call_case(before))
    arguments = call_case(place) if kind == CALLS else file_case(kind, place)
    print([one[:200] for one in arguments])
    answer = asked(arguments)
    print(answer.code, answer.wrong, f"{answer.seconds:.1f} s", answer.output[-5000:], sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
