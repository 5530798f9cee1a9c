"""Commands of any options and values, for `odd_files.py`: a grammar of the command line."""

from __future__ import annotations

import random

import click
from odd_inputs import AUDIT, NAMES

from dpaudit.cli import main as commands

ODD_TEXTS = (
    *(
        "",
        " ",
        "nan",
        "-inf",
        "inf",
        "-1",
        "0",
        "1.5",
        "1e400",
        "1e-400",
        "9" * 5000,
        "0x10",
        "1_0",
    ),
    *("\x00", "\ud800", "é", "a:b:c", ".:x", "..:f", "%s", "{}", "[]", "[" * 5000, "-", "--", "/"),
    *(
        "x" * 5000,
        "--help",
        "-h",
        "'",
        '"',
        "\n",
        "\r\n",
        "$HOME",
        "~",
        "*",
        "None",
        "true",
        "\u202e",
    ),
)
TARGETS = (
    *("odd_code.py:honest",) * 4,
    *("odd_code.py:leaky", "odd_code.py:words", "odd_code.py:one", "odd_code.py:Needs"),
    *(
        "odd_code.py:NUMBER",
        "odd_code.py:",
        "odd_code.py",
        "odd_code:honest",
        "a.json:x",
        "math:pi",
    ),
    *("dpaudit.zoo:LaplaceCount", "dpaudit.zoo:ClippedSum", "dpaudit.zoo:Nobody", "json:loads"),
    *(
        "odd_code.py:honest.inner",
        "odd_code.py:Needs(1)",
        "odd_code.py:Needs(scale=1).f",
        "a:f(g())",
    ),
)
CLAIMS = (
    *("eps=1",) * 4,
    *(
        "1",
        "eps=0",
        "eps=-1",
        "eps=1,delta=1e-6",
        "delta=0.1",
        "mu=1",
        "rho=0.1",
        "order=2,eps=0.5",
    ),
    *(
        "eps=1,eps=2",
        "eps=1,delta=1",
        "order=1,eps=1",
        "eps=1e300",
        "eps=nan",
        "eps",
        "=",
        ",",
        "mu=0",
    ),
)
FILE_NAMES = (*NAMES, "odd_code.py", ".", "nowhere/a.json", "new.json", "new", "é.json", "x" * 250)
VALUES: dict[str, tuple[str, ...]] = {
    "target": TARGETS,
    "--claim": CLAIMS,
    "name": ("LaplaceCount", "ClippedSum", "Nobody", "laplacecount"),
    "--records": (
        *(
            "floats:-1:1",
            "floats:-1:1",
            "integers:0:5",
            "categories:a,b,c",
            "vectors:2:0:1",
            "floats",
        ),
        *(
            "floats:1:0",
            "floats:-1:1+odd",
            "dates:2020-01-01:2021-01-01",
            "texts:a,b",
            "floats:nan:1",
        ),
        *("vectors:0:0:1", "integers:0:1e9", "categories:", "categories:a,a", "dates:2021:2020"),
        *(
            "tables(a=floats:0:1,b=categories:x,y)",
            "tables(",
            "tables(a=)",
            "tables(a=tables(b=c))",
        ),
    ),
    "--pair": (
        *("[[0],[1]]", "[[],[1]]", "[[0],[0]]", "[1]", "{}", "[[NaN],[Infinity]]", '[["a"],["b"]]'),
        *("[[0],[1],[2]]", "[null,{}]", "[[[[]]],[1]]", "[0,1", '[{"a":1},{"a":2}]', "[1e999,1]"),
    ),
    "--dask": (
        "127.0.0.1:9",
        "tcp://127.0.0.1:9",
        "tcp://x",
        "nonsense://x:1",
        "tls://127.0.0.1:9",
    ),
    "--workers": ("1", "2", "0", "-1", "1001"),
    "--samples": ("2", "7", "40", "100", "100", "300"),
    "--trials": ("1", "2", "5"),
    "--transcripts": ("1", "2", "40", "400", "0"),
    "--seconds": ("0.01", "0.2", "1e-300", "0"),
    "--call-seconds": ("0.5", "5", "1e300", "0"),
    "--length": ("1", "2", "5", "0", "-3", "1000001"),
    "--max-records": ("1", "3", "10", "0", "-1"),
    "--min-records": ("0", "1", "3", "-1", "1000001"),
    "--group": ("1", "2", "3", "0", "-1"),
    "--sensitivity": ("1", "0.5", "1e300", "1e-300", "0"),
    "--alpha": ("1e-6", "0.05", "0.5", "1e-300", "0.999", "1"),
    "--auditor": ("Ada", "x" * 400),
    "--purpose": ("release 2", "x" * 400),
    "--seed": ("0", "1", "7", str(2**64), str(10**40)),
}
_SLOW = ("--workers", "--isolate", "--dask")  # a second to start processes, or to find nobody
_LARGE = ("--samples", "--trials", "--transcripts")  # a large number asks for time, and may


_SAMPLES = ("--claim", "eps=1", "--seed", "1")
_SEARCH = ("odd_code.py:honest", "--claim", "eps=1", "--relation")
BASES: dict[str, tuple[tuple[str, ...], ...]] = {  # that run, before options are added
    "audit": (
        AUDIT,
        ("odd_code.py:leaky", *AUDIT[1:]),
        ("odd_code.py:words", *AUDIT[1:]),
        ("odd_code.py:one", *AUDIT[1:], "--one-at-a-time"),
        (*_SEARCH, "replace-one", "--records", "floats:-1:1"),
        (*_SEARCH, "add-or-remove-one", "--records", "categories:a,b"),
        (*_SEARCH, "query-answers", "--length", "2"),
    ),
    "inside": (
        (*AUDIT, "--seed", "1"),
        ("odd_code.py:one", *AUDIT[1:]),
        ("odd_code.py:leaky", *AUDIT[1:], "--reveal", "--confirm"),
        (*_SEARCH, "replace-one", "--records", "floats:-1:1"),
    ),
    "samples": (
        ("a.npy", "a.npy", *_SAMPLES),
        ("a.csv", "a.csv", *_SAMPLES),
        ("a.txt", "a.npy", *_SAMPLES),
        ("d.json", "d.json", *_SAMPLES),
    ),
    "replay": (("a.json", "odd_code.py:leaky"), ("a.json",), ("a.json", "odd_code.py:honest")),
    "compare": (("a.json", "b.json"), ("a.json", "a.json")),
    "report": (("a.json",), ("b.json",), ("c.json", "-o", "page.html")),
    "export": (("a.json",), ("b.json", "--as", "badge"), ("c.json", "-o", "page.sarif")),
    "write": (("odd_code.py:honest",), ("odd_code.py:leaky", "-o", "test_it.py")),
    "mechanisms": ((), ("LaplaceCount",)),
    "store": (("a.sqlite",),),
    "verify": (("a.json",), ("b.json",), ("a.json", "odd_code.py:leaky")),
    "training": (
        ("scores.csv", "--claim", "mu=1", "--seed", "1"),
        ("a.npy", "--canaries", "plan.json", "--claim", "eps=1", "--seed", "1"),
    ),
}


def random_command(rng: random.Random) -> list[str]:
    """A command with any options; now and then a value that makes no sense at all."""
    name = rng.choice([*sorted(commands.commands), "audit", "audit", "audit", "samples", "replay"])
    if name == "demo":  # has no options, and takes seconds
        return ["demo", rng.choice(("--help", "x", *ODD_TEXTS[:5], "--nonsense"))]
    odd = rng.choice((0.0, 0.02, 0.1, 0.4))
    parameters = commands.commands[name].params
    options = [one for one in parameters if isinstance(one, click.Option)]
    words: list[list[str]] = []
    wanted = {"--claim", "--pair"}
    if rng.random() < 0.6:
        words.append(list(rng.choice(BASES[name])))
        wanted = set()
    else:
        words += [[_value(one, rng, odd)] for one in parameters if isinstance(one, click.Argument)]
        if rng.random() < 0.1:
            words = words[: rng.randrange(len(words) + 1)]
        rng.shuffle(words)
    often = rng.choice((0.0, 0.05, 0.15))
    for option in options:
        flag = option.opts[-1]
        chance = often / 8 if flag in _SLOW else often
        if flag in wanted or flag == "--samples" or rng.random() < chance:
            words.append(_given(option, rng, odd))
    if rng.random() < 0.03:
        words.append([rng.choice(("--nonsense", "extra", "-x", *ODD_TEXTS))])
    return [name, *(word for part in words for word in part)]


def _given(option: click.Option, rng: random.Random, odd: float) -> list[str]:
    flag = rng.choice(option.opts)
    if option.is_flag:
        return [flag]
    value = _value(option, rng, odd)
    return [f"{flag}={value}"] if rng.random() < 0.2 and flag.startswith("--") else [flag, value]


def _value(parameter: click.Parameter, rng: random.Random, odd: float) -> str:
    name = parameter.opts[-1]
    texts = [text for text in ODD_TEXTS if set(text) != {"9"}] if name in _LARGE else ODD_TEXTS
    if rng.random() < odd:
        return rng.choice(texts)
    if isinstance(parameter.type, click.Choice):
        return str(rng.choice(list(parameter.type.choices)))
    known = VALUES.get(name, FILE_NAMES)
    return known[0] if rng.random() < 0.4 else rng.choice(known)
