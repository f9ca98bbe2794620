"""`attention-zoo evaluate` as a script, for `torchrun` and `accelerate launch`; each sentence is scored once:

torchrun --nproc_per_node 2 scripts/evaluate.py runs/de-en --dataset translation_de_en --split test
"""

import sys

from hf_attention_zoo.cli.failures import exit_code
from hf_attention_zoo.tasks.evaluate import main

if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(program="python scripts/evaluate.py")))
