"""Sphinx builds the documentation: `sphinx-build -W docs docs/_build/html`, from the root of the repository.

Lessons are notebooks in Markdown, run while the pages are built. What can be read from the code is written anew for
each build, see `generate.py`. Equations become MathML, which browsers show by themselves: no page needs a network.
"""

import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
# The kernels that run the lessons take the package from here, one thread, and nothing from the network.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

project = "hf_attention_zoo"
author = "The hf_attention_zoo developers"
project_copyright = f"{author}, Apache-2.0"
html_title = "hf_attention_zoo"

extensions = ["myst_nb"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "jupyter_execute", ".jupyter_cache", "notebooks"]
html_theme = "furo"
html_static_path = ["style"]
html_css_files = ["formulas.css"]
html_extra_path = ["extra"]  # pages that stand for themselves, written by generate.py

# ATTENTION_ZOO_DOCS=off builds the pages without running the lessons.
nb_execution_mode = os.environ.get("ATTENTION_ZOO_DOCS", "force")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove"  # progress bars


html_math_renderer = "mathml"


def show_inline(page: Any, node: nodes.math) -> None:
    page.body.append(convert(node.astext()))
    raise nodes.SkipNode


def show_block(page: Any, node: nodes.math_block) -> None:
    """A formula of several, with \\qquad between them, goes on in the next line where the page is narrow."""
    parts = [convert(part, display="block") for part in node.astext().split(r"\qquad")]
    page.body.append(f'<div class="formulas">{"".join(parts)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    import generate

    app.add_html_math_renderer("mathml", inline_renderers=(show_inline, None), block_renderers=(show_block, None))
    generate.write_all(HERE)
