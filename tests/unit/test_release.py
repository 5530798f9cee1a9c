"""What a release says of itself is true, and what would be wrong with one is noticed."""

import csv
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import release_check
import smoke

ROOT = release_check.ROOT
REPORTS = ROOT / "docs" / "reports"
WORKFLOWS = ROOT / ".github" / "workflows"
TEXTS = sorted(path for path in REPORTS.glob("*.md") if path.name != "index.md")
PARTS = ("Promised", "Found", "Smallest example", "Why it matters", "A suggested fix")

in_a_checkout = pytest.mark.skipif(
    not WORKFLOWS.exists(), reason="the source distribution has neither workflows nor reports"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What a release is named by, to be changed."""
    for name in ("CHANGELOG.md", "CITATION.cff", "src/dpaudit/_version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_version_changelog_and_citation_agree() -> None:
    assert release_check.disagreements(ROOT) == []
    assert release_check.disagreements(ROOT, f"v{release_check.version_of(ROOT)}") == []


@pytest.mark.parametrize(
    ("name", "pattern", "told"),
    [
        (
            "src/dpaudit/_version.py",
            r'"\d[^"]*"',
            ["CHANGELOG.md begins", "CITATION.cff has the v"],
        ),
        ("CHANGELOG.md", r"\d{4}-\d\d-\d\d", ["CITATION.cff has the day"]),
        ("CITATION.cff", r'(?<=^version: )".*"', ["CITATION.cff has the version"]),
        ("CHANGELOG.md", r"## \[Unreleased\]\n", ["CHANGELOG.md has no section"]),
    ],
)
def test_a_release_that_is_called_by_two_names_is_not_published(
    tree: Path, name: str, pattern: str, told: list[str]
) -> None:
    text = (tree / name).read_text(encoding="utf-8")
    other = '"9.9.9"' if '"' in pattern else "2001-01-01"
    changed = re.sub(pattern, other, text, count=1, flags=re.MULTILINE)
    (tree / name).write_text(changed, encoding="utf-8")
    found = release_check.disagreements(tree)
    assert [line.startswith(start) for line, start in zip(found, told, strict=True)]


def test_a_tag_of_another_version_is_not_published() -> None:
    version = release_check.version_of(ROOT)
    assert release_check.disagreements(ROOT, "v0.0.9") == [
        f"the tag is v0.0.9, expected v{version}"
    ]


def test_a_wheel_holds_the_package_the_plugin_and_nothing_else(tmp_path: Path) -> None:
    expected = release_check.sources(ROOT)
    assert expected >= {"_dpaudit_pytest.py", *(f"dpaudit/{name}" for name in ("py.typed",))}
    assert expected >= {f"dpaudit/report/templates/{name}" for name in smoke.TEMPLATES}
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in {*expected, "dpaudit-9.dist-info/METADATA"}:
            archive.writestr(name, "")
    assert release_check.misplaced(wheel, expected) == []
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in {*expected, "tests/test_it.py"} - {"dpaudit/py.typed"}:
            archive.writestr(name, "")
    assert release_check.misplaced(wheel, expected) == [
        "a.whl lacks dpaudit/py.typed",
        "a.whl also holds tests/test_it.py",
    ]


def test_the_smoke_test_refuses_another_version() -> None:
    command = [sys.executable, str(release_check.SMOKE), "9.9.9"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert found.returncode == 1
    assert found.stderr.startswith("the version that is installed: expected {'9.9.9'}, found {")


@in_a_checkout
def test_workflows_call_targets_and_scripts_that_exist() -> None:
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for path in WORKFLOWS.glob("*.yml"):
        for line in re.findall(r"- run: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            command, *words = line.replace('"', "").split()
            if command == "make":
                named = {word for word in words if "=" not in word and "$" not in word}
                assert named <= made, path.name
            else:
                script = words[0] if command == "python" else command
                assert (ROOT / script).is_file(), path.name


@in_a_checkout
def test_every_adapter_is_in_the_workflow() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^LIBRARIES := (.*)$", makefile, re.MULTILINE)
    text = (WORKFLOWS / "adapters.yml").read_text(encoding="utf-8")
    assert re.findall(r"^          - ([a-z-]+)$", text, re.MULTILINE) == listed.split()


@in_a_checkout
def test_every_python_that_is_promised_is_tried() -> None:
    promised = re.findall(
        r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )
    for name in ("gate.yml", "release.yml"):
        text = (WORKFLOWS / name).read_text(encoding="utf-8")
        listed = ", ".join(f'"{each}"' for each in promised)
        assert f"python: [{listed}]" in text


@in_a_checkout
@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_a_report_has_its_parts_and_a_script_that_needs_only_the_library(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [*PARTS]
    assert "Not sent." in text
    (script,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    compile(script, page.name, "exec")
    assert "dpaudit" not in script
    (printed,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    shown = re.findall(r"epsilon is at least (\d+\.\d+)", printed)
    assert shown
    assert min(map(float, shown)) > 1.0  # each page's claim is epsilon 1


@in_a_checkout
def test_every_refuted_line_is_ready_or_known() -> None:
    index = (REPORTS / "index.md").read_text(encoding="utf-8")
    refuted = set()
    for path in (ROOT / "experiments" / "results" / "libraries").glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            refuted |= {one["function"] for one in csv.DictReader(file) if one["saved"]}
    assert {line for line in refuted if f"`{line}`" not in index} == set()
    assert re.findall(r"^\| \[.*?\]\((.*?)\)", index, re.MULTILINE) == [one.name for one in TEXTS]
