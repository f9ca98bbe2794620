"""Writes `hf_attention_zoo/__init__.pyi`: what type checkers read in place of the package's lazy table of names.

python scripts/write_types.py
"""

from pathlib import Path

import hf_attention_zoo

TYPES = Path(hf_attention_zoo.__file__).with_suffix(".pyi")
LINE_LENGTH = 119


def written_types() -> str:
    """The file's text: an import of every public name from the module that has it, and `__all__`."""
    places = {"get_architecture": "hf_attention_zoo.registry", "list_architectures": "hf_attention_zoo.registry"}
    places |= hf_attention_zoo._PUBLIC
    lines = ["# Written by scripts/write_types.py."]
    for module, name in sorted((module, name) for name, module in places.items()):
        line = f"from {module} import {name} as {name}"
        lines.append(line if len(line) <= LINE_LENGTH else f"from {module} import (\n    {name} as {name},\n)")
    listed = [f'    "{name}",' for name in sorted(hf_attention_zoo.__all__)]
    return "\n".join([*lines, "", "__version__: str", "__all__ = [", *listed, "]", ""])


if __name__ == "__main__":
    TYPES.write_text(written_types(), encoding="utf-8")
    print(f"{TYPES}: {len(hf_attention_zoo.__all__)} names")
