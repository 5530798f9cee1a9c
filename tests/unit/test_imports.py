"""Imports point one way, importing is light, and every public name is there and documented."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import dpaudit
from dpaudit.architecture import ROOMS

# A room imports only from rooms before it, eagerly or lazily. A new room gets its place in ROOMS.
ORDER = ("_version", *ROOMS, "mechanisms", "__main__", "__init__")

PACKAGE = Path(dpaudit.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
HEAVY = ("numpy", "scipy", "sklearn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import of one of our rooms: where it goes, the line, and whether a function does it."""

    room: str
    line: int
    lazy: bool


def place(room: str) -> int:
    if room not in ORDER:
        raise AssertionError(f"no place for the room {room!r}: add it to ROOMS in architecture.py")
    return ORDER.index(room)


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
    """Give the dotted names a statement imports: `from .stats import a` is `dpaudit.bounds.a`."""
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
    known = {*ORDER} | {room_of(path) for path in FILES}
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
    return [
        f"{file}:{found.line}: {room} imports {found.room}, which stands above it"
        for found in imports(source, file)
        if place(found.room) > place(room)
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_point_one_way(file: Path) -> None:
    assert wrong_imports(file.read_text(encoding="utf-8"), file) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("claims/kinds.py", "import dpaudit.auditing"),
        ("claims/kinds.py", "import numpy, dpaudit.testers.mmd"),
        ("claims/kinds.py", "from dpaudit.mechanism import one_at_a_time"),
        ("claims/kinds.py", "from dpaudit import mechanism"),
        ("auditing/audit.py", "from dpaudit import PureDP"),
        ("auditing/audit.py", "import dpaudit"),
        ("zoo/mean.py", "from dpaudit.cli import main"),
        ("betting/account.py", "from dpaudit import testers"),
        ("bounds/binomial.py", "from ..results import Audit"),
        ("bounds/binomial.py", "from .. import results"),
        ("testers/mmd.py", "def test():\n    from dpaudit.auditing import audit"),
        ("testers/mmd.py", "try:\n    import dpaudit.zoo\nexcept ImportError:\n    pass"),
        ("report/text.py", "from dpaudit.results import Audit"),
        ("neighbours/relation.py", "def finder_named():\n    from dpaudit import search"),
        ("report/text.py", "class Text:\n    from dpaudit.results import Audit"),
        (
            "claims/kinds.py",
            "if TYPE_CHECKING:\n    import dpaudit.claims\nelse:\n    import dpaudit.cli",
        ),
    ],
)
def test_an_upward_import_is_caught(file: str, source: str) -> None:
    assert len(wrong_imports(source, PACKAGE / file)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("claims/kinds.py", "import numpy\nfrom scipy import special\nimport dpaudit.bounds"),
        ("claims/kinds.py", "if TYPE_CHECKING:\n    from dpaudit.results import Audit"),
        ("claims/kinds.py", "if typing.TYPE_CHECKING:\n    from dpaudit.results import Audit"),
        ("testers/mmd.py", "from dpaudit.testers.batch import BatchTester"),
        ("testers/mmd.py", "from ..claims import Claim\nfrom . import batch"),
        ("testers/mmd.py", "from dpaudit import betting, claims, mechanism, outputs, guessing"),
        ("results/audit.py", "def report(self):\n    from dpaudit.report import text"),
        ("search/gp.py", "from dpaudit import domains, neighbours"),
        ("zoo/__init__.py", "from dpaudit.auditing import audit"),
        ("cli/audit.py", "from dpaudit.auditing import audit\nfrom dpaudit import zoo, report"),
    ],
)
def test_a_downward_import_is_not_caught(file: str, source: str) -> None:
    assert wrong_imports(source, PACKAGE / file) == []


def test_an_unknown_room_says_where_to_add_it() -> None:
    with pytest.raises(AssertionError, match=r"no place for the room 'utils': add it to ROOMS"):
        wrong_imports("import dpaudit.utils", PACKAGE / "claims/kinds.py")
    with pytest.raises(AssertionError, match=r"no place for the room 'helpers'"):
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
