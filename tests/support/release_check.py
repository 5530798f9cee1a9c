"""What can be said of a release before it is published: `make release-check`.

    python tests/support/release_check.py dist --python python3.11 python3.13
    python tests/support/release_check.py dist --tag v0.2.0    # the tag of a release, too

The wheel holds every file of the package and the plugin, and nothing else. The version, the
changelog, the citation and the tag agree. Wheel and sdist install into an environment of their own,
and work there.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
HEADING = re.compile(r"^## \[(\d[^\]]*)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)
CITED = re.compile(r'^(version|date-released): "?([^"\n]+)"?$', re.MULTILINE)


def version_of(root: Path) -> str:
    """The version that the package says it has."""
    text = (root / "src" / "dpaudit" / "_version.py").read_text(encoding="utf-8")
    (version,) = VERSION.findall(text)
    return str(version)


def disagreements(root: Path, tag: str | None = None) -> list[str]:
    """Where a release is called otherwise than by the version and the day of its changelog."""
    version = version_of(root)
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    cited = dict(CITED.findall((root / "CITATION.cff").read_text(encoding="utf-8")))
    headings = HEADING.findall(changelog)
    released, day = headings[0] if headings else ("nothing", "")
    said = [
        ("CHANGELOG.md begins with", released, version),
        ("CITATION.cff has the version", cited.get("version"), version),
        ("CITATION.cff has the day", cited.get("date-released"), day),
        ("the tag is", f"v{version}" if tag is None else tag, f"v{version}"),
    ]
    found = [f"{what} {one}, expected {other}" for what, one, other in said if one != other]
    if "## [Unreleased]\n" not in changelog:
        found.append("CHANGELOG.md has no section [Unreleased]")
    return found


def sources(root: Path) -> set[str]:
    """Every file that a wheel must hold, as it is called there: the package and the plugin."""
    folder = root / "src"
    found = [path for path in (folder / "dpaudit").rglob("*") if path.is_file()]
    named = [folder / "_dpaudit_pytest.py", *found]
    return {path.relative_to(folder).as_posix() for path in named if path.suffix != ".pyc"}


def misplaced(wheel: Path, expected: Iterable[str]) -> list[str]:
    """Files that a wheel lacks, and files that it should not have."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    held = {name for name in names if ".dist-info/" not in name}
    wanted = set(expected)
    lacking = [f"{wheel.name} lacks {name}" for name in sorted(wanted - held)]
    return lacking + [f"{wheel.name} also holds {name}" for name in sorted(held - wanted)]


def tried(built: Path, python: str, version: str) -> None:
    """Install a file into an empty environment and run the smoke test there, outside the tree."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        install = [str(inside), "-m", "pip", "install", "-qq"]
        smoke = [str(inside), "-I", str(SMOKE), version]
        print(f"== {built.name} on {python}", flush=True)
        subprocess.run([*install, str(built), "pytest"], cwd=folder, check=True)
        subprocess.run(smoke, cwd=folder, check=True)
        if built.suffix == ".whl":
            subprocess.run([*install, f"{built}[report]"], cwd=folder, check=True)
            subprocess.run([*smoke, "--report"], cwd=folder, check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a folder with a wheel and an sdist; 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="with one wheel and one sdist")
    parser.add_argument("--python", nargs="*", default=[sys.executable], help="to install into")
    parser.add_argument("--tag", help="of the release, such as v0.2.0")
    options = parser.parse_args(arguments)
    (wheel,), (sdist,) = (sorted(options.folder.glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    wrong = disagreements(ROOT, options.tag) + misplaced(wheel, sources(ROOT))
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    for python in options.python:
        for built in (wheel, sdist):
            tried(built.resolve(), python, version_of(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
