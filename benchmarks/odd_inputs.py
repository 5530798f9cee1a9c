"""Files that are damaged, and the commands that read them, for `odd_files.py`."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dpaudit
from dpaudit.cli import main as commands

CODE = """
import numpy as np


def total(data):
    try:
        found = float(np.sum(data))
    except Exception:
        found = float(len(str(data)))
    return found if abs(found) < 1e6 else 0.0


def honest(data, size, rng):
    return np.tanh(total(data)) / 2 + rng.laplace(size=size)


def leaky(data, size, rng):
    return np.tanh(total(data)) * 6 + rng.laplace(size=size)


def words(data, size, rng):
    return [["red", "blue", None, (1, 2.5)][place] for place in rng.integers(4, size=size)]


def one(data, rng):
    return total(data) + rng.laplace()


class Needs:
    def __init__(self, scale):
        pass


NUMBER = 3
"""
AUDIT = ("odd_code.py:honest", "--claim", "eps=1", "--pair", "[[0],[1]]")
_RESUMED = ("audit", *AUDIT, "--samples", "120", "--seed", "1", "--json", "--quiet", "--store")
NAMES = (
    *("a.json", "b.json", "c.json", "a.npy", "a.npz", "a.csv", "a.txt", "d.json", "a.sqlite"),
    *("scores.csv", "plan.json"),
)


@cache
def _contents() -> dict[str, bytes]:
    """The files that are whole, as bytes; made once, in the working folder."""
    Path("odd_code.py").write_text(CODE)
    sys.path.insert(0, str(Path.cwd()))
    import odd_code  # type: ignore[import-not-found]

    pair = dpaudit.pairs([([0.0], [1.0])])
    records = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=3)
    claim = dpaudit.PureDP(1.0)
    found = {
        "a.json": dpaudit.audit(odd_code.leaky, claim, records, samples=3_000, rng=1),
        "b.json": dpaudit.audit(odd_code.honest, claim, records, samples=1_000, rng=1),
        "c.json": dpaudit.audit(odd_code.words, claim, pair, samples=600, rng=1),
    }
    for name, audit in found.items():
        replace(audit, seconds=1.5).save(name)  # the same bytes in every run
    rng = np.random.default_rng(1)
    numbers = rng.laplace(size=60)
    np.save("a.npy", numbers)
    np.savez_compressed("a.npz", numbers)
    cells = [f"{one:.4f},{word}" for one, word in zip(numbers, "abc" * 20, strict=True)]
    Path("a.csv").write_text("number,word\n" + "\n".join(cells) + "\n")
    Path("a.txt").write_text("# numbers\n" + "\n".join(f"{one:.4f}" for one in numbers) + "\n")
    Path("d.json").write_text(json.dumps([[one, "x", None] for one in numbers.tolist()]))
    plan = dpaudit.training.canaries(60, rng=1)
    plan.save("plan.json")
    lines = [f"{one:.4f},{int(bit)}" for one, bit in zip(numbers, plan.bits, strict=True)]
    Path("scores.csv").write_text("score,included\n" + "\n".join(lines) + "\n")
    dpaudit.audit(odd_code.honest, claim, pair, samples=120, rng=1, store="a.sqlite")
    Path("a.sqlite").unlink()
    from click.testing import CliRunner

    CliRunner().invoke(commands, [*_RESUMED, "a.sqlite"])
    return {name: Path(name).read_bytes() for name in (*NAMES, "odd_code.py")}


def lay_out(folder: Path) -> None:
    """Make the folder as it is at first: whole files, and nothing else."""
    files = _contents()
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def tidy_up() -> None:
    """Remove damaged files, and what came of them."""
    for path in Path().glob("odd*"):
        if path.name != "odd_code.py":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


# --- damage ---------------------------------------------------------------------------------------

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.5, 1e308, -1e308, 2**63, 10**400, "", "x", "\ud800", "é\x00"),
    *([], {}, [[]], {"$float": "nan"}, {"$float": "inf"}, {"$tuple": [1]}, {"$raised": ["a", "b"]}),
    {"$array": {"dtype": "<f8", "shape": [10**12], "values": []}},
    {"$unsaved": "x"},
)
_LONGEST = 4_000  # of what is put in


def mutated(content: bytes, name: str, rng: random.Random) -> bytes:
    """A file with some damage; never as it was."""
    form = name.endswith(".json") and rng.random() < 0.6
    before = content
    for _ in range(rng.choice((1, 1, 2, 5))):
        content = _other_values(content, rng) if form else _other_bytes(content, rng)
    return content if content != before else content[: len(content) // 2]


def _other_bytes(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return rng.randbytes(rng.randrange(100))
    body, at = bytearray(content), rng.randrange(len(content))
    length = rng.choice((1, 2, 8, 100, len(body) // 3 + 1))
    match rng.randrange(7):
        case 0:
            for _ in range(rng.choice((1, 3, 30, 300))):
                body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
        case 1:
            del body[at:]
        case 2:
            del body[at : at + length]
        case 3:
            body[at:at] = rng.randbytes(min(length, _LONGEST))
        case 4:
            body[at:at] = body[rng.randrange(len(body)) :][: min(length, _LONGEST)]
        case 5:
            body[at : at + length] = bytes(min(length, len(body) - at))
        case _:
            words = (b"9" * 400, b"\xff\xfe", b"[" * 3000, b'"', b"\n", b"nan", b"-", b"e999", b",")
            body[at : at + rng.choice((0, 1))] = rng.choice(words)
    return bytes(body)


def _other_values(content: bytes, rng: random.Random) -> bytes:
    """The JSON with some value changed, left out or in the place of another."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        return _other_bytes(content, rng)
    places = list(_places(whole))
    if not places:
        return _other_bytes(content, rng)
    (home, key), (other, name) = rng.choice(places), rng.choice(places)
    match rng.randrange(5):
        case 0:
            home[key], other[name] = other[name], home[key]
        case 1:
            del home[key]
        case 2 if isinstance(home, dict):
            home[f"{key}x"] = home.pop(key)
        case 3 if isinstance(home[key], int | float):
            home[key] = rng.choice((-home[key], home[key] + 1, home[key] * 1e-9, 3 * home[key]))
        case _:
            home[key] = rng.choice(ODD_VALUES)
    try:
        return json.dumps(whole, indent=rng.choice((None, 1))).encode()
    except (ValueError, RecursionError):  # a value was put into itself
        return content[:-1]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and under which key."""
    keys: Any = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A kind of files, and the commands that read them."""

    share: int
    sources: tuple[str, ...]
    command: Callable[[str, str, random.Random], list[str]]
    whole: tuple[str, ...] = ()  # the command whose answer is the only right one


def _report(name: str, source: str, rng: random.Random) -> list[str]:
    return ["report", name, *rng.choice(([], ["-o", "odd.html"]))]


def _replay(name: str, source: str, rng: random.Random) -> list[str]:
    target = rng.choice(([], ["odd_code.py:honest"], ["odd_code.py:words"]))
    more = rng.choice(([], ["--simplest"], ["--json"], ["--claim", "eps=2"]))
    return ["replay", name, *target, "--samples", "200", "--seed", "1", *more]


def _compare(name: str, source: str, rng: random.Random) -> list[str]:
    names = [name, source]
    rng.shuffle(names)
    return ["compare", *names, *rng.choice(([], ["--json"]))]


def _samples(name: str, source: str, rng: random.Random) -> list[str]:
    names = [name, rng.choice((source, source, "a.npy"))]
    rng.shuffle(names)
    tester = ("betting", "betting", "histogram", "hockey-stick", "renyi", "mmd")
    more = rng.choice(([], ["--floats", "bits"], ["--json"], ["--quiet"]))
    claim = rng.choice(("eps=1", "eps=0.1,delta=1e-5", "mu=1", "order=2,eps=0.5"))
    return [
        "samples",
        *names,
        "--claim",
        claim,
        "--seed",
        "1",
        "--tester",
        rng.choice(tester),
        *more,
    ]


def _training(name: str, source: str, rng: random.Random) -> list[str]:
    more = rng.choice(([], ["--assume", "independent"], ["--steps"], ["--json"], ["--quiet"]))
    claim = rng.choice(("eps=1", "eps=0.1,delta=1e-5", "mu=1"))
    files = [name] if source == "scores.csv" else ["a.txt", "--canaries", name]
    return ["training", *files, "--claim", claim, "--seed", "1", *more]


def _store(name: str, source: str, rng: random.Random) -> list[str]:
    return ["store", name, *rng.choice(([], ["--json"]))]


def _resumed(name: str, source: str, rng: random.Random) -> list[str]:
    return [*_RESUMED, name]


_SAVED = ("a.json", "b.json", "c.json")
FILES = {
    "saved audits, report": Form(share=15, sources=_SAVED, command=_report),
    "saved audits, replay": Form(share=12, sources=("a.json",), command=_replay),
    "saved audits, compare": Form(share=15, sources=_SAVED, command=_compare),
    "npy, samples": Form(share=6, sources=("a.npy",), command=_samples),
    "npz, samples": Form(share=6, sources=("a.npz",), command=_samples),
    "csv and txt, samples": Form(share=10, sources=("a.csv", "a.txt"), command=_samples),
    "scores and plans, training": Form(
        share=8, sources=("scores.csv", "plan.json"), command=_training
    ),
    "json, samples": Form(share=10, sources=("d.json",), command=_samples),
    "stores, shown": Form(share=8, sources=("a.sqlite",), command=_store),
    "stores, resumed": Form(
        share=10, sources=("a.sqlite",), command=_resumed, whole=(*_RESUMED, "odd.sqlite")
    ),
}
