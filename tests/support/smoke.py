"""Does an installed dpaudit work? `make release-check` runs it in an environment of its own.

    python -I tests/support/smoke.py 0.2.0             # the version that was built
    python -I tests/support/smoke.py 0.2.0 --report    # the extra `report` is installed too

It needs dpaudit and pytest. Nothing of the checkout may be at hand: what is missing in the wheel
would be found there.
"""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SUM = """
import numpy as np
import dpaudit


def forgetful(data, size, rng):  # replacing a record moves the sum by 2
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)


def correct(data, size, rng):
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=2.0, size=size)
"""
TESTS = """
import pytest
import dpaudit
from sums import correct, forgetful

CLAIM, PAIR = dpaudit.PureDP(1.0), [([1.0], [-1.0])]


def test_correct():
    dpaudit.assert_private(correct, CLAIM, PAIR, samples=4_000)


def test_forgetful():
    with pytest.raises(dpaudit.PrivacyViolation):
        dpaudit.assert_private(forgetful, CLAIM, PAIR)
"""
TEMPLATES = ("base.html.jinja", "report.html.jinja", "suite.html.jinja", "style.css")
OPTIONS = ("--claim", "eps=1", "--records", "floats:-1:1", "--relation", "replace-one")
NOT_REFUTED, REFUTED, UNDECIDED = 0, 1, 3


def main() -> None:
    """Run every check; the first that fails ends the run and says what was wrong."""
    version, extras = sys.argv[1], sys.argv[2:]
    installed(version)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "sums.py").write_text(SUM, encoding="utf-8")
        (place / "test_sums.py").write_text(TESTS, encoding="utf-8")
        sys.path.insert(0, folder)
        audits_in_python()
        audits_on_the_command_line(place)
        audits_in_tests(place)
        if "--report" in extras:
            page(place)
    print(f"dpaudit {version} on Python {sys.version.split()[0]}: all checks passed")


def installed(version: str) -> None:
    """The version is the one that was built, with its types and templates, from the environment."""
    import dpaudit

    found = importlib.metadata.version("dpaudit")
    expect("the version that is installed", {found, dpaudit.__version__}, {version})
    place = Path(dpaudit.__file__ or "")
    inside = Path(sys.prefix) in place.parents
    expect(f"whether {place} is in the environment {sys.prefix}", inside, True)
    package = importlib.resources.files("dpaudit")
    for name in ("py.typed", *(f"report/templates/{name}" for name in TEMPLATES)):
        expect(f"whether {name} is in the package", package.joinpath(name).is_file(), True)


def audits_in_python() -> None:
    """The broken sum is refuted on fresh draws, the correct one is not."""
    import dpaudit

    sums: Any = importlib.import_module("sums")
    near = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=3)
    broken = dpaudit.audit(sums.forgetful, dpaudit.PureDP(1.0), near, rng=7)
    expect("the verdict on the broken sum", broken.verdict.value, "refuted")
    correct = dpaudit.audit(sums.correct, dpaudit.PureDP(1.0), near, samples=20_000, rng=7)
    expect("the verdict on the correct sum", correct.verdict.value, "not refuted")


def audits_on_the_command_line(place: Path) -> None:
    """The program says its version and its help; its exit codes say the verdicts."""
    shown = ran(place, "-m", "dpaudit", "--help")
    expect("the exit code of --help", shown.returncode, 0)
    expect("whether --help names the command audit", " audit " in shown.stdout, True)
    program = Path(sys.executable).with_name("dpaudit")
    expect(f"whether {program} is installed", program.exists(), True)
    for name, codes in (("forgetful", {REFUTED}), ("correct", {NOT_REFUTED, UNDECIDED})):
        target = ("audit", f"sums.py:{name}", *OPTIONS, "--seed", "7", "--samples", "20000")
        found = ran(place, "-m", "dpaudit", *target)
        expect(f"the exit code of an audit of {name}", found.returncode in codes, True)


def audits_in_tests(place: Path) -> None:
    """Pytest loads the plugin by itself."""
    helped = ran(place, "-m", "pytest", "--help")
    expect("whether the plugin adds its option", "--dpaudit-profile" in helped.stdout, True)
    found = ran(place, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sums.py")
    expect(f"the exit code of pytest, which said:\n{found.stdout}", found.returncode, 0)


def page(place: Path) -> None:
    """A report is written from the templates of the wheel."""
    sums: Any = importlib.import_module("sums")
    import dpaudit

    audit = dpaudit.audit(sums.forgetful, dpaudit.PureDP(1.0), [([1.0], [-1.0])], rng=7)
    audit.report(place / "audit.html")
    written = (place / "audit.html").read_text(encoding="utf-8")
    expect("whether the page names the mechanism", "forgetful" in written, True)


def ran(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in the folder of the sums."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=place, capture_output=True, text=True, timeout=300
    )


def expect(what: str, found: object, expected: object) -> None:
    """End the run if something is not as it must be."""
    if found != expected:
        raise SystemExit(f"{what}: expected {expected!r}, found {found!r}")


if __name__ == "__main__":
    main()
