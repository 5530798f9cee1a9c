"""How the site is built: `make docs`."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import dpaudit

sys.path.insert(0, str(Path(__file__).parent))

project = "dpaudit"
author = "The dpaudit developers"
copyright = author
release = dpaudit.__version__

extensions = [
    "myst_nb",  # Markdown too
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "mathml",
    "parameters",
    "zoo",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.strikethrough"]
nb_execution_mode = "off"  # notebooks show what is committed, which the tests compare

html_theme = "furo"
html_title = f"dpaudit {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["sortable.js"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False

# Docstrings write code in single backticks. What is documented becomes a link, the rest stays code.
default_role = "py:obj"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_typehints = "description"  # parameters as a list, each with its type
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
python_use_unqualified_type_names = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # code, not what it prints

nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", r"(?s).*"),  # most code in docstrings is no name of ours
    ("py:class", r"(?!dpaudit\.).*"),  # other libraries; the build asks nobody for their pages
    ("py:class", r"dpaudit\.\w+\..*"),  # types inside our rooms, which have no page of their own
]

# Where users import names from.
PUBLIC_MODULES = ("dpaudit", "dpaudit.errors", "dpaudit.testers", "dpaudit.integrations")


def link_public_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Lead from `dpaudit.claims.kinds.PureDP`, as annotations say, to `dpaudit.PureDP`."""
    name = node.get("reftarget", "").rpartition(".")[2]
    if node.get("refdomain") != "py" or not name:
        return None
    python = env.get_domain("py")
    for home in PUBLIC_MODULES:
        found = python.resolve_any_xref(
            env, node["refdoc"], app.builder, f"{home}.{name}", node, content
        )
        if found:
            return found[0][1]
    return None


def setup(app: Sphinx) -> None:
    """Let the names above be found."""
    app.connect("missing-reference", link_public_name)
