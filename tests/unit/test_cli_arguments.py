"""Whatever the arguments: no traceback, no verdict by accident, and nothing allocated by a number.

Every command, option and argument is tried with every odd value, so that an option that is added is
tried too.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from commands import error_line, run_apart
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.auditing import Store
from dpaudit.cli import main
from dpaudit.cli.target import MAX_NESTED_LISTS

ODD = (
    "",
    " ",
    "nan",
    "-inf",
    "-1",
    "0",
    "1.5",
    "1e400",
    "9" * 5000,
    "1" + "0" * 30,
    "\x00",
    "\ud800",
    "é",
    "a:b:c",
    ".:x",
    "..:f",
    "%s",
    "[]",
    "[" * 5000,
    "-",
    "/",
    "x" * 5000,
)
FORMS = {  # a command that runs, so that one odd value is all that is wrong
    "audit": (
        "odd_code.py:honest",
        *("--claim", "eps=1", "--pair", "[[0],[1]]", "--samples", "100", "--seed", "1"),
    ),
    "inside": (
        "odd_code.py:honest",
        *("--claim", "eps=1", "--pair", "[[0],[1]]", "--transcripts", "4", "--seed", "1"),
    ),
    "samples": ("a.npy", "a.npy", "--claim", "eps=1"),
    "replay": ("a.json", "odd_code.py:honest"),
    "compare": ("a.json", "a.json"),
    "report": ("a.json",),
    "export": ("a.json",),
    "write": ("odd_code.py:honest",),
    "mechanisms": (),
    "demo": (),
    "store": ("a.sqlite",),
    "training": ("a.csv", "--claim", "eps=1"),
    "verify": ("a.json", "odd_code.py:honest"),
}
UNBOUNDED = {
    ("audit", "--samples"),
    ("audit", "--trials"),
    ("inside", "--transcripts"),
}  # they ask for time, and may


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_modules: None) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("odd_code.py").write_text(
        "import abc\n"
        "def honest(data, size, rng):\n    return rng.laplace(size=size)\n"
        "class Needs:\n    def __init__(self, scale): pass\n"
        "class Abstract(abc.ABC):\n    @abc.abstractmethod\n    def __call__(self, data): pass\n"
    )
    np.save("a.npy", np.zeros(60))
    bits = np.arange(60) % 2
    Path("a.csv").write_text("".join(f"{place},{bit}\n" for place, bit in enumerate(bits)))
    Path("a.json").write_text("{}")
    with Store("a.sqlite") as store:
        store.belong_to({"claim": "1-DP"})
    return tmp_path


def tried(*arguments: str) -> None:
    """Run a command: an answer, or an error that is said in words."""
    result = run_apart(*arguments)
    shown = [argument[:60] for argument in arguments]
    assert result.exit_code in (0, 1, 2, 3), (shown, result.exit_code)
    assert result.exception is None or isinstance(result.exception, SystemExit), shown
    assert "Traceback" not in result.stderr, (shown, result.stderr[-400:])
    if result.exit_code == 2:
        assert result.stdout == "", shown
        assert "Error: " in result.stderr, shown


def test_every_command_has_its_form() -> None:
    assert set(FORMS) == set(main.commands)


def options_of(command: str) -> Iterator[str]:
    for parameter in main.commands[command].params:
        if isinstance(parameter, click.Option) and not parameter.is_flag:
            yield parameter.opts[-1]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", FORMS)
def test_odd_options_are_refused_in_words(command: str) -> None:
    for option in options_of(command):
        for value in ODD:
            if (command, option) not in UNBOUNDED or not value.startswith("1000"):
                tried(command, *FORMS[command], option, value)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", [command for command in FORMS if command != "demo"])
def test_odd_arguments_are_refused_in_words(command: str) -> None:
    form = FORMS[command]
    places = sum(isinstance(each, click.Argument) for each in main.commands[command].params)
    for place in range(places):
        for value in ODD:
            tried(command, *form[:place], value, *form[place + 1 :])
    tried(command, *ODD)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("option", ["--records", "--length", "--sensitivity", "--max-records"])
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one", "query-answers"])
def test_odd_searches_are_refused_in_words(relation: str, option: str) -> None:
    for value in ODD:
        given = ["--length", "3"] if relation == "query-answers" else ["--records", "floats:0:1"]
        start = ("audit", "odd_code.py:honest", "--claim", "eps=1", "--samples", "60")
        tried(*start, "--seed", "1", "--relation", relation, *given, option, value)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--alpha", "nan"), "nan is not a finite number"),
        (("--alpha", "0"), "0.0 is not in the range 0<x<1"),
        (("--alpha", "1"), "1.0 is not in the range 0<x<1"),
        (("--alpha", "inf"), "inf is not in the range 0<x<1"),
        (("--seconds", "nan"), "nan is not a finite number"),
        (("--seconds", "inf"), "inf is not a finite number"),
    ],
)
def test_numbers_that_are_none_are_refused(arguments: tuple[str, ...], words: str) -> None:
    result = run_apart("audit", *FORMS["audit"], *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("target", "words"),
    [
        (".:x", "'.' is no name of a module"),
        ("..:x", "'..' is no name of a module"),
        (".odd_code:honest", "'.odd_code' is no name of a module"),
        ("a\x00b:x", "is no name of a module"),
        (f"{'x' * 5000}.py:f", "is no name of a file"),
        ("odd_code.py:Needs", "is a class that cannot be called without arguments"),
        ("odd_code.py:Abstract", "is a class that cannot be called without arguments"),
        ("builtins:type", "is a class that cannot be called without arguments"),
    ],
)
def test_targets_that_are_none_are_one_clear_line(target: str, words: str) -> None:
    assert words in error_line(run_apart("audit", target, *FORMS["audit"][1:]))


SEARCH = ("audit", "odd_code.py:honest", "--claim", "eps=1", "--samples", "60", "--relation")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("replace-one --records vectors:1000000000:0:1", "at most 1,000,000 numbers"),
        (f"replace-one --records vectors:1{'0' * 30}:0:1", "at most 1,000,000 numbers"),
        (
            "replace-one --records vectors:1000000:0:1 --max-records 999 --min-records 999",
            "999 records of vectors(1000000, 0, 1) have 999,000,000. Take fewer",
        ),
        (
            "replace-one --records floats:0:1 --max-records 9000000 --min-records 9000000",
            "--min-records must be at most 1,000,000",
        ),
        ("query-answers --length 1000000000", "--length must be at most 1,000,000"),
    ],
)
def test_nothing_is_allocated_by_a_number_alone(arguments: str, words: str) -> None:
    assert words in error_line(run_apart(*SEARCH, *arguments.split()))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("depth", [MAX_NESTED_LISTS + 1, 900, 100_000])
@pytest.mark.parametrize("closed", [True, False])
def test_deep_pairs_are_one_clear_line(depth: int, closed: bool) -> None:
    text = f"[[1], {'[' * depth}{']' * depth if closed else ''}]"
    message = error_line(run_apart("audit", *FORMS["audit"], "--pair", text))
    assert "--pair: more than 30 lists inside each other" in message or "is not JSON" in message


def nested(entries: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(entries, max_size=3) | st.dictionaries(st.text(max_size=3), entries, max_size=2)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3), nested
)


@settings(max_examples=25)
@given(
    pair=st.lists(VALUES, min_size=2, max_size=2) | VALUES,
    records=st.sampled_from(("", "floats:0:1", "vectors:2:0:1", "texts:a,b")),
)
def test_any_pair_is_audited_or_refused(pair: object, records: str) -> None:
    options = ("--records", records) if records else ()
    target = ("audit", "dpaudit.zoo:LaplaceCount", "--claim", "eps=1", "--samples", "40")
    result = run_apart(*target, "--seed", "1", "--pair", json.dumps(pair), *options)
    assert result.exit_code in (0, 1, 2, 3)


# --- headers of arrays ----------------------------------------------------------------------------


def npy(header: str, *, version: int = 1, body: bytes = b"") -> bytes:
    text = header.encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + body


def header(shape: str, descr: str = "'<f8'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"


HEADERS = {
    "long": npy(header("(1000000000000000,)"), body=b"\0" * 100),
    "a little too long": npy(header("(13,)"), body=b"\0" * 96),
    "wide": npy(header("(10,)", "'<U500000000'")),
    "deep": npy(header("(5,)", "[('a', '<f8', (100000, 100000))]"), body=b"\0" * 100),
    "nothing by much": npy(header(f"(0, 1{'0' * 30})")),
    "in no room": npy(header("(1000000000000,)", "'|V0'")),
    "negative": npy(header("(-5,)")),
    "no shape": npy(header("(True, 2.5)")),
    "no type": npy(header("(1,)", "','")),
    "brackets": npy("(" * 5000, version=2),
    "digits": npy("9" * 9000),
    "version": npy(header("(1,)"), version=9),
    "longer than the file": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{",
    "cut": b"\x93NUMPY\x01",
    "pickle": npy(header("(10,)", "'|O'"), body=b"cos\nsystem\n(S'exit'\ntR."),
}


def zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("only.npy", content)
    return packed.getvalue()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", HEADERS)
def test_a_header_is_not_believed(name: str) -> None:
    Path("odd.npy").write_bytes(HEADERS[name])
    Path("odd.npz").write_bytes(zipped(HEADERS[name]))
    for file in ("odd.npy", "odd.npz"):
        assert f"{file} cannot be read: " in error_line(
            run_apart("samples", file, "a.npy", "--claim", "1")
        )


@pytest.mark.usefixtures("here")
def test_an_archive_is_not_believed() -> None:
    packed = bytearray(zipped(npy(header("(1000000000000,)"))))
    for at in (packed.index(b"PK\x03\x04") + 22, packed.index(b"PK\x01\x02") + 24):
        packed[at : at + 4] = struct.pack("<I", 2**32 - 2)  # the size of what is in it
    Path("odd.npz").write_bytes(bytes(packed))
    words = error_line(run_apart("samples", "odd.npz", "a.npy", "--claim", "1"))
    assert "odd.npz cannot be read: it announces 4,294,967,294 bytes" in words


@pytest.mark.usefixtures("here")
def test_arrays_of_every_version_are_read() -> None:
    for version in (1, 2, 3):
        Path("v.npy").write_bytes(npy(header("(50,)"), version=version, body=b"\0" * 400))
        assert run_apart("samples", "v.npy", "v.npy", "--claim", "1").exit_code in (0, 3)
    np.savez_compressed("zeros.npz", np.zeros(100_000))
    assert run_apart("samples", "zeros.npz", "a.npy", "--claim", "1").exit_code in (0, 3)


@pytest.mark.usefixtures("here")
def test_deep_json_is_one_clear_line() -> None:
    Path("deep.json").write_text("[" * 100_000)
    words = error_line(run_apart("samples", "deep.json", "a.npy", "--claim", "1"))
    assert words == "deep.json cannot be read: it is too deep or too large."


@pytest.mark.usefixtures("here")
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
@pytest.mark.parametrize("command", ["report", "replay", "compare", "samples"])
def test_a_device_is_not_read(command: str) -> None:
    more = {"compare": ("/dev/zero",), "samples": ("/dev/zero", "--claim", "1")}.get(command, ())
    result = run_apart(command, "/dev/zero", *more)
    assert result.exit_code == 2
    assert "is a device. Name a file." in result.stderr
