"""What pages are made of: templates, figures as SVG, and JSON that is cut where it is long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dpaudit.report import wording
from dpaudit.report.figures.canvas import FigureKind, as_svg, needed
from dpaudit.report.showing import dataset, duration, one_line

_MAX_JSON = 40_000  # characters of the JSON on a page
_MAX_ENTRIES = (200, 60, 20, 8, 2)  # of a list in the JSON, tried one after the other
_MAX_TEXT = 2_000  # characters of a text in the JSON


def figure_on_page(audit: Any, kind: FigureKind) -> dict[str, Any]:
    """A figure on a page: its title, the SVG (with its alternative text) and how to read it."""
    svg = as_svg(kind.draw(audit), name=kind.name, alt=kind.alt(audit))
    found = getattr(audit, "counterexample", None)
    other = "" if found is not None else kind.caption_without_event
    markup = needed("markupsafe").Markup(svg)
    return {"title": kind.title, "svg": markup, "caption": other or kind.caption}


def rendered(name: str, **values: Any) -> str:
    """The text of a template with these values."""
    jinja2 = needed("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dpaudit", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for show in (dataset, duration, one_line, wording.least_leak):
        environment.filters[show.__name__] = show
    return str(environment.get_template(f"{name}.html.jinja").render(**values))


def json_in_short(saved: Mapping[str, Any]) -> tuple[str, bool]:
    """The JSON of a result, and whether it is whole: long lists are cut."""
    text, whole = _json_text(saved), True
    for most in _MAX_ENTRIES:
        if len(text) > _MAX_JSON:
            text, whole = _json_text(_cut(saved, most)), False
    return text[:_MAX_JSON], whole


def _cut(value: Any, most: int) -> Any:
    """The value with at most `most` entries in each list, and no endless text.

    >>> _cut({"draws": list(range(9))}, 2)
    {'draws': [0, 1, '... 7 more ...']}
    """
    if isinstance(value, dict):
        return {name: _cut(entry, most) for name, entry in value.items()}
    if isinstance(value, list):
        more = len(value) - most
        short = [_cut(entry, most) for entry in value[:most]]
        return [*short, f"... {more:,} more ..."] if more > 0 else short
    too_long = isinstance(value, str) and len(value) > _MAX_TEXT
    return one_line(value, _MAX_TEXT) if too_long else value


def _json_text(saved: Mapping[str, Any]) -> str:
    """One line for each field, as in a saved file."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, sort_keys=True, ensure_ascii=False)}"
        for name, value in sorted(saved.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}"
