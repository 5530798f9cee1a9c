"""Exit codes are verdicts, and standard output is the answer, whatever the target does."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run_apart

import dpaudit

CODE = """
import atexit, ctypes, os, signal, subprocess, sys
import click
import dpaudit

class Own(BaseException):
    pass

class Silent(click.ClickException):
    exit_code = 0
    def show(self, file=None):
        pass

class Leaves(SystemExit):
    pass

ERRORS = {
    "exit_0": SystemExit(0), "exit_1": SystemExit(1), "exit_3": SystemExit(3),
    "exit_nothing": SystemExit(), "exit_words": SystemExit("all is well"), "leaves": Leaves(0),
    "interrupt": KeyboardInterrupt(), "generator": GeneratorExit(), "own": Own("x"),
    "click_exit_0": click.exceptions.Exit(0), "click_exit_1": click.exceptions.Exit(1),
    "abort": click.Abort(), "silent": Silent("x"), "click_error": click.ClickException("x"),
}

def raising(error):
    def mechanism(data, size, rng):
        raise error
    return mechanism

globals().update({name: raising(error) for name, error in ERRORS.items()})

class Search:
    def __init__(self, error):
        self.error = error
    def ask(self):
        raise self.error
    def tell(self, pair, score):
        pass

def honest(data, size, rng):
    return rng.laplace(size=size)

def subject(error):
    return dpaudit.Subject(
        mechanism=honest, claim=dpaudit.PureDP(1.0), neighbours=Search(error)
    )

globals().update({f"search_{name}": subject(error) for name, error in ERRORS.items()})

class Making:
    def __init__(self):
        sys.exit(0)

def printing(data, size, rng):
    print("printed")
    sys.stdout.write("written")
    sys.__stdout__.write("to the real one")
    os.write(1, b"to the descriptor")
    subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)
    ctypes.CDLL(None).puts(b"by C")
    return rng.laplace(size=size)
"""
NAMES = (
    "exit_0",
    "exit_1",
    "exit_3",
    "exit_nothing",
    "exit_words",
    "leaves",
    "interrupt",
    "generator",
    "own",
    "click_exit_0",
    "click_exit_1",
    "abort",
    "silent",
    "click_error",
)
OPTIONS = ("--claim", "eps=1", "--pair", "[[0],[1]]", "--samples", "200", "--seed", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_modules: None) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("code_that_leaves.py").write_text(CODE)
    return tmp_path


def refused(*arguments: str) -> str:
    """What a command says that neither has a verdict nor shows a traceback."""
    result = run_apart(*arguments)
    assert result.exit_code == 2, (arguments, result.output)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("Error: ")
    return result.stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("on_error", ["output", "raise"])
@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_chooses_no_exit_code(name: str, on_error: str) -> None:
    target = f"code_that_leaves.py:{name}"
    assert " raised " in refused("audit", target, *OPTIONS, "--on-error", on_error)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", NAMES)
def test_a_search_chooses_no_exit_code(name: str) -> None:
    assert " raised " in refused("audit", f"code_that_leaves.py:search_{name}", "--seed", "1")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", ["audit", "write"])
@pytest.mark.parametrize("name", NAMES)
def test_an_import_chooses_no_exit_code(command: str, name: str) -> None:
    Path("leaves_at_import.py").write_text(f"{CODE}\nraise ERRORS[{name!r}]\n")
    options = OPTIONS if command == "audit" else ()
    assert " raised " in refused(command, "leaves_at_import.py:honest", *options)
    assert " raised " in refused(command, "leaves_at_import:honest", *options)


@pytest.mark.usefixtures("here")
def test_making_an_object_chooses_no_exit_code() -> None:
    words = refused("audit", "code_that_leaves.py:Making", *OPTIONS)
    assert "code_that_leaves.py:Making raised SystemExit(0), which ends a process." in words


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", NAMES)
def test_a_replayed_mechanism_chooses_no_exit_code(name: str) -> None:
    audit = dpaudit.audit(
        lambda data, size: [float(data[0])] * size,
        dpaudit.PureDP(1.0),
        [([0.0], [1.0])],
        rng=1,
        samples=20_000,
    )
    audit.save("leak.json")
    target = f"code_that_leaves.py:{name}"
    assert " raised " in refused("replay", "leak.json", target, "--on-error", "raise")


def program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dpaudit", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.usefixtures("here")
def test_what_a_mechanism_prints_is_not_in_the_answer() -> None:
    Path("prints.py").write_text(f"{CODE}\nprint('imported')\natexit.register(print, 'at exit')\n")
    found = program("audit", "prints.py:printing", *OPTIONS, "--samples", "40", "--json")
    assert found.returncode in (0, 3), found.stderr
    assert json.loads(found.stdout)["mechanism"] == "printing"
    for words in ("printed", "written", "to the real one", "to the descriptor", "by a child"):
        assert words in found.stderr
    for words in ("by C", "imported", "at exit"):
        assert words in found.stderr
    written = program("write", "prints.py:printing")
    assert written.returncode == 0, written.stderr
    assert "imported" not in written.stdout
    compile(written.stdout, "written", "exec")


@pytest.mark.usefixtures("here")
def test_the_same_in_a_process_that_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    result = run_apart(
        "audit", "code_that_leaves.py:printing", *OPTIONS, "--samples", "40", "--json"
    )
    assert result.exit_code in (0, 3), result.output
    assert json.loads(result.stdout)["mechanism"] == "printing"
    os.write(1, b"ours again")
    print("and ours")
    out, err = capfd.readouterr()
    assert "ours again" in out
    assert "and ours" in out
    assert "to the descriptor" in err
    assert "to the descriptor" not in out


@pytest.mark.usefixtures("here")
def test_without_standard_streams_the_verdict_is_the_exit_code() -> None:
    command = f"{sys.executable} -m dpaudit audit code_that_leaves.py:honest "
    options = "--claim eps=1 --pair '[[0],[1]]' --samples 200 --seed 1"
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        found = subprocess.run(f"{command} {options} {closed}", shell=True, check=False)
        assert found.returncode in (0, 3)


@pytest.mark.usefixtures("here")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_an_answer_that_cannot_be_printed_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "dpaudit", "audit", "code_that_leaves.py:honest", *OPTIONS],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert found.returncode == 2
    assert "the answer could not be printed: No space left on device." in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("flags", [("--json",), ("--quiet",), ()])
def test_an_answer_that_nobody_reads_is_an_error(flags: tuple[str, ...]) -> None:
    commands: list[tuple[str, ...]] = [("audit", "code_that_leaves.py:honest", *OPTIONS, *flags)]
    for command in [*commands, *([] if flags else [("mechanisms",), ("demo",)])]:
        reading, writing = os.pipe()
        os.close(reading)
        try:
            found = subprocess.run(
                [sys.executable, "-m", "dpaudit", *command],
                stdout=writing,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        finally:
            os.close(writing)
        assert found.returncode == 2, found.stderr
        assert "Traceback" not in found.stderr


@pytest.mark.usefixtures("here")
def test_ctrl_c_gives_the_verdict_so_far() -> None:
    Path("pressed.py").write_text(
        "import signal\n"
        "def honest(data, size, rng):\n"
        "    if size > 50:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return rng.laplace(size=size)\n"
    )
    before = signal.getsignal(signal.SIGINT)
    result = run_apart("audit", "pressed.py:honest", *OPTIONS, "--samples", "20000", "--json")
    assert result.exit_code in (0, 3), result.output
    assert json.loads(result.stdout)["interrupted"]
    assert signal.getsignal(signal.SIGINT) is before


# --- files that are none --------------------------------------------------------------------------


def device(folder: Path) -> Path:
    """A device: one of our own for whoever may replace those of the machine."""
    try:
        os.mknod(folder / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        return Path(os.devnull)
    return folder / "device"


def special(folder: Path) -> dict[str, Path]:
    """What exists and is not a plain file, and links to it."""
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "socket"))
    found = {name: folder / name for name in ("pipe", "folder", "socket")}
    found["device"] = device(folder)
    for name, path in list(found.items()):
        link = folder / f"link to {name}"
        link.symlink_to(path)
        found[link.name] = link
    return found


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_nothing_but_a_plain_file_is_written_over(here: Path) -> None:
    audit = dpaudit.audit(
        lambda data, size, rng: rng.laplace(size=size),
        dpaudit.PureDP(1.0),
        [([0], [1])],
        rng=1,
        samples=100,
    )
    audit.save("audit.json")
    target = "code_that_leaves.py:exit_1"  # it would be heard if a draw were made
    for name, path in special(here).items():
        before = path.stat()
        commands: list[tuple[str, ...]] = [("audit", target, *OPTIONS, "--output", str(path))]
        if "folder" not in name:
            commands += [("report", "audit.json", "-o", str(path))]
        commands += [("write", "code_that_leaves.py:honest", "--force", "-o", str(path))]
        for command in commands:
            result = run_apart(*command)
            assert result.exit_code == 2, (command, result.output)
            assert (
                "which a file would replace" in result.stderr or "is a directory" in result.stderr
            )
        for write in (audit.save, audit.report):
            with pytest.raises(FileExistsError, match="which a file would replace"):
                write(path)
        assert os.path.samestat(path.stat(), before)
    link = here / "link to a file"
    link.symlink_to(here / "audit.json")
    audit.save(link)
    assert link.is_symlink()


@pytest.mark.usefixtures("here")
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no such device")
def test_the_output_is_not_the_file_that_is_printed_to() -> None:
    command = [sys.executable, "-m", "dpaudit", "audit", "code_that_leaves.py:honest", *OPTIONS]
    for place in ("/dev/stdout", "printed.txt"):
        with Path("printed.txt").open("w") as file:
            found = subprocess.run(
                [*command, "--output", place],
                stdout=file,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert found.returncode == 2
        assert "is what this command prints to" in found.stderr
