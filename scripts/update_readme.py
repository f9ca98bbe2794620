"""Write the generated parts of README.md anew: the table of architectures and the measured figures.

    python scripts/update_readme.py [--check]

With --check nothing is written; the exit status is 1 if the README is stale.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from hf_attention_zoo.registry import architecture_table

ROOT = Path(__file__).resolve().parent.parent


def checkpoint_table() -> str:
    """Published checkpoints and their scores, from the metrics file of each folder in model_cards/."""
    lines = ["| checkpoint | test split | sentences | BLEU | chrF | copy baseline BLEU |", "|---|---|---|---|---|---|"]
    for path in sorted((ROOT / "model_cards").glob("*/metrics.json")):
        metrics = json.loads(path.read_text(encoding="utf-8"))
        data, results = metrics["dataset"], metrics["results"]
        bleu, chrf, copied = (results["bleu"]["value"], results["chrf"]["value"], metrics["baselines"]["copy"]["bleu"])
        lines.append(
            f"| [`{path.parent.name}`](model_cards/{path.parent.name}) | `{data['name']}` {data['source_lang']} to "
            f"{data['target_lang']} | {data['rows']:,} | {bleu:.1f} | {chrf:.1f} | {copied:.1f} |"
        )
    return "\n".join(lines)


GENERATED = {"architectures": architecture_table, "checkpoints": checkpoint_table}


def renew(text: str) -> str:
    """The README's text with each generated part replaced."""
    for name, make in GENERATED.items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end {name} -->)"
        if not re.search(pattern, text, re.DOTALL):
            raise SystemExit(
                f"README.md has no part between <!-- {name} --> and <!-- end {name} -->; put the two lines back"
            )
        text = re.sub(pattern, lambda found, make=make: found[1] + make() + found[2], text, flags=re.DOTALL)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the README is stale")
    check = parser.parse_args().check
    readme = ROOT / "README.md"
    old = readme.read_text(encoding="utf-8")
    new = renew(old)
    if not check:
        readme.write_text(new, encoding="utf-8")
    return int(check and new != old)


if __name__ == "__main__":
    raise SystemExit(main())
