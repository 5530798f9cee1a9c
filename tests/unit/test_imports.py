"""Imports point one way, importing is light, and every public name is there and documented."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import dpaudit

# A room imports from its own layer or a lower one, so that each can be read, tested and replaced
# without knowing who uses it. A new room gets its place here.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "_version",
            "choices",
            "claim_text",
            "claims",
            "domains",
            "events",
            "exits",
            "frames",
            "naming",
            "outputs",
            "pair",
            "plain",
            "readable",
            "returned",
            "stats",
            "suite",
        }
    ),
    frozenset(
        {
            "adapters",
            "batches",
            "bets",
            "deck",
            "health",
            "independence",
            "loading",
            "mechanism",
            "neighbours",
            "raising",
            "watch",
            "witness",
        }
    ),
    frozenset({"testers", "finders"}),
    frozenset({"evidence", "testing"}),
    frozenset({"auditing"}),
    frozenset({"measuring"}),
    frozenset({"report", "store"}),
    frozenset({"asserting", "writing"}),
    frozenset({"mechanisms"}),  # the zoo audits itself, but knows no command line
    frozenset({"__init__", "cli", "__main__"}),
)

# Upward imports allowed inside a function, where they cannot make a cycle at import time.
LAZY_EXCEPTIONS: frozenset[tuple[str, str]] = frozenset(
    {
        ("evidence", "report"),  # print(audit), audit.report(...)
        ("neighbours", "finders"),  # replace_one(..., finder="auto") makes its finder
    }
)

PACKAGE = Path(dpaudit.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
HEAVY = ("numpy", "scipy", "sklearn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import of one of our rooms: where it goes, the line, and whether a function does it."""

    room: str
    line: int
    lazy: bool


def layer(room: str) -> int:
    for height, rooms in enumerate(LAYERS):
        if room in rooms:
            return height
    raise AssertionError(f"no layer for the room {room!r}: add it to LAYERS in {__file__}")


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def runtime_imports(
    node: ast.AST, *, lazy: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield every import statement that can run, and whether it waits for a call."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, lazy
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If) and is_type_checking(node.test):
        children = list(node.orelse)
    waits = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for child in children:
        yield from runtime_imports(child, lazy=waits)


def modules_named(statement: ast.Import | ast.ImportFrom, file: Path) -> list[str]:
    """Give the dotted names a statement imports: `from .stats import a` is `dpaudit.stats.a`."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    base = statement.module or ""
    if statement.level > 0:
        package = ["dpaudit", *file.relative_to(PACKAGE).parts[:-1]]
        kept = package[: len(package) - statement.level + 1]
        base = ".".join([*kept, base] if base else kept)
    return [f"{base}.{alias.name}" for alias in statement.names]


def imports(source: str, file: Path) -> list[Import]:
    """List the imports of our rooms in a source; `dpaudit.<public name>` is the room `__init__`."""
    known = frozenset().union(*LAYERS) | {room_of(path) for path in FILES}
    found = []
    for statement, lazy in runtime_imports(ast.parse(source)):
        for name in modules_named(statement, file):
            top, _, rest = name.partition(".")
            if top != "dpaudit":
                continue
            first = rest.partition(".")[0]
            is_module = isinstance(statement, ast.Import) or rest.count(".") > 0
            room = first if first and (is_module or first in known) else "__init__"
            found.append(Import(room=room, line=statement.lineno, lazy=lazy))
    return found


def wrong_imports(source: str, file: Path) -> list[str]:
    """Say which imports of a source point upwards."""
    room = room_of(file)
    wrong = []
    for found in imports(source, file):
        if layer(found.room) <= layer(room):
            continue
        if found.lazy and (room, found.room) in LAZY_EXCEPTIONS:
            continue
        wrong.append(
            f"{file}:{found.line}: {room} (layer {layer(room)}) imports {found.room} "
            f"(layer {layer(found.room)}), which stands above it"
        )
    return wrong


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_point_one_way(file: Path) -> None:
    assert wrong_imports(file.read_text(encoding="utf-8"), file) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("claims.py", "import dpaudit.auditing"),
        ("claims.py", "import numpy, dpaudit.testers.betting"),
        ("claims.py", "from dpaudit.mechanism import one_at_a_time"),
        ("claims.py", "from dpaudit import mechanism"),
        ("auditing.py", "from dpaudit import PureDP"),
        ("auditing.py", "import dpaudit"),
        ("mechanisms/laplace.py", "from dpaudit.cli import main"),
        ("pair.py", "from dpaudit.neighbours import Relation"),
        ("bets.py", "from dpaudit import testers"),
        ("stats/binomial.py", "from ..evidence import Audit"),
        ("stats/binomial.py", "from .. import evidence"),
        ("testers/betting.py", "def test():\n    from dpaudit.auditing import audit"),
        ("testers/betting.py", "try:\n    import dpaudit.report\nexcept ImportError:\n    pass"),
        ("evidence.py", "from dpaudit.report import text"),
        ("evidence.py", "class Audit:\n    from dpaudit.report import text"),
        (
            "claims.py",
            "if TYPE_CHECKING:\n    import dpaudit.claims\nelse:\n    import dpaudit.cli",
        ),
    ],
)
def test_an_upward_import_is_caught(file: str, source: str) -> None:
    assert len(wrong_imports(source, PACKAGE / file)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("claims.py", "import numpy\nfrom scipy import special\nimport dpaudit.stats.binomial"),
        ("claims.py", "if TYPE_CHECKING:\n    from dpaudit.evidence import Audit"),
        ("claims.py", "if typing.TYPE_CHECKING:\n    from dpaudit.evidence import Audit"),
        ("testers/betting.py", "from dpaudit.testers.protocol import Tester"),
        ("testers/betting.py", "from ..claims import Claim\nfrom . import protocol"),
        ("testers/betting.py", "from dpaudit import bets, claims, mechanism, outputs, witness"),
        ("neighbours/records.py", "from dpaudit import domains, pair"),
        ("loading.py", "from dpaudit.mechanism import as_mechanism"),
        ("evidence.py", "def report(self):\n    from dpaudit.report import text"),
        ("neighbours/relation.py", "def finder_named():\n    from dpaudit import finders"),
        ("mechanisms/__init__.py", "from dpaudit.auditing import audit"),
        ("cli.py", "import dpaudit\nfrom dpaudit import audit, mechanisms, report"),
    ],
)
def test_a_downward_import_is_not_caught(file: str, source: str) -> None:
    assert wrong_imports(source, PACKAGE / file) == []


def test_an_unknown_room_says_where_to_add_it() -> None:
    with pytest.raises(AssertionError, match=r"no layer for the room 'utils': add it to LAYERS"):
        wrong_imports("import dpaudit.utils", PACKAGE / "claims.py")
    with pytest.raises(AssertionError, match=r"no layer for the room 'helpers'"):
        wrong_imports("import dpaudit.claims", PACKAGE / "helpers" / "text.py")


def heavy_modules_after(code: str) -> str:
    """Run code in a fresh interpreter and give the heavy packages it loaded."""
    ending = f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    result = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{ending}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stderr.strip()


def test_importing_dpaudit_loads_nothing_heavy() -> None:
    assert heavy_modules_after("import dpaudit; dpaudit.__version__; dir(dpaudit)") == "[]"


def test_a_public_name_loads_what_it_needs() -> None:
    """The probe above is not blind: asking for an audit does load numpy."""
    assert "numpy" in heavy_modules_after("import dpaudit; dpaudit.audit")


def test_asking_for_help_loads_nothing_heavy() -> None:
    code = """
from dpaudit.cli import main
try:
    main(["--help"])
except SystemExit as stop:
    assert stop.code == 0, stop.code
"""
    assert heavy_modules_after(code) == "[]"


def test_the_module_runs_as_a_command() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "dpaudit", "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Usage: dpaudit ")


@pytest.mark.parametrize("name", dpaudit.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(dpaudit, name) is not None
    assert name in dir(dpaudit)


@pytest.mark.parametrize("name", sorted(set(dpaudit.__all__) - {"__version__"}))
def test_every_public_name_has_a_docstring(name: str) -> None:
    docstring = getattr(dpaudit, name).__doc__
    assert docstring, f"dpaudit.{name} has no docstring"
    # A dataclass without a docstring gets its signature for one.
    assert not docstring.startswith(f"{name}("), f"dpaudit.{name} has no docstring of its own"


def test_type_checkers_see_the_same_names_as_users() -> None:
    tree = ast.parse(Path(dpaudit.__file__).read_text(encoding="utf-8"))
    block = next(
        node for node in tree.body if isinstance(node, ast.If) and is_type_checking(node.test)
    )
    seen = {
        alias.asname: statement.module
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert seen == dpaudit._HOME


def test_no_public_name_is_hidden_by_a_room() -> None:
    """Importing a room sets its name on the package, over a function of the same name."""
    assert {room_of(file) for file in FILES} & set(dpaudit.__all__) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'dpaudit' has no attribute 'PureDb'"):
        getattr(dpaudit, "PureDb")  # noqa: B009 -- a type checker would stop the plain spelling
