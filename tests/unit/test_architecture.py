"""The map in README, the table and the walk in CONTRIBUTING say what is true of the code."""

import ast
import re
from pathlib import Path

import pytest

import dpaudit
from dpaudit.architecture import ROOMS

ROOT, PACKAGE = Path(__file__).parents[2], Path(dpaudit.__file__).parent
README, CONTRIBUTING = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")
)
STEP = re.compile(r"^\d+\. `([\w/]+\.py)`, `([\w.]+)`: ", re.MULTILINE)
STEPS = STEP.findall(CONTRIBUTING)


def defined_in(tree: ast.Module) -> set[str]:
    """The functions and classes of a module, and the methods of its classes."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            methods = node.body if isinstance(node, ast.ClassDef) else []
            names |= {f"{node.name}.{one.name}" for one in methods if hasattr(one, "name")}
    return names


def test_every_room_is_in_the_table_and_no_other() -> None:
    beside = {"__init__", "__main__", "__pycache__", "_version", "mechanisms", "py.typed"}
    found = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()}
    assert found - beside == {*ROOMS}


@pytest.mark.parametrize("room", ROOMS)
def test_readme_and_contributing_say_what_a_room_knows(room: str) -> None:
    name = f"{room}/" if (PACKAGE / room).is_dir() else f"{room}.py"
    assert re.search(rf"^  {re.escape(name)} +{re.escape(ROOMS[room])}$", README, re.MULTILINE)
    assert f"| `{name}` | {ROOMS[room]} |\n" in CONTRIBUTING


def test_the_rooms_stand_in_their_order() -> None:
    for text, pattern in ((README, r"^  ([\w]+)(?:/|\.py) "), (CONTRIBUTING, r"^\| `(\w+)")):
        assert [room for room in re.findall(pattern, text, re.MULTILINE) if room in ROOMS] == [
            *ROOMS
        ]


def test_the_walk_has_eleven_steps() -> None:
    assert len(STEPS) == 11
    assert STEPS[0] == ("auditing/audit.py", "audit")


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_every_step_of_the_walk_exists(file: str, name: str) -> None:
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
    assert name in defined_in(tree)
