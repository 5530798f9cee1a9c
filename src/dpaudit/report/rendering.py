"""What pages are made of: templates, figures as SVG, and JSON that is cut where it is long."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dpaudit.report.figures.canvas import FigureKind, as_svg, needed
from dpaudit.report.showing import one_line

_EXPONENT = re.compile(r"\d?e-\d+")
_MAX_JSON = 40_000  # characters of the JSON on a page
_MAX_ENTRIES = (200, 60, 20, 8, 2)  # of a list in the JSON, tried one after the other
_MAX_TEXT = 2_000  # characters of a text in the JSON


def figure_on_page(audit: Any, kind: FigureKind) -> dict[str, Any]:
    """A figure on a page: its title, the SVG (with its alternative text) and how to read it."""
    svg = as_svg(kind.draw(audit), name=kind.name, alt=kind.alt(audit))
    markup = needed("markupsafe").Markup(svg)
    return {"title": kind.title, "svg": markup, "caption": kind.caption(audit)}


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
    for show in (one_line, unbroken):
        environment.filters[show.__name__] = show
    return str(environment.get_template(f"{name}.html.jinja").render(**values))


def unbroken(text: object) -> Any:
    """A text as HTML in which no line is broken at the minus of an exponent.

    >>> print(unbroken("(1, 1e-06)-DP"))
    (1, <span class="whole">1e-06</span>)-DP
    """
    markup = needed("markupsafe")
    whole = _EXPONENT.sub(r'<span class="whole">\g<0></span>', str(markup.escape(text)))
    return markup.Markup(whole)


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
