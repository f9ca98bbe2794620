"""`attention-zoo train` as a script, for `torchrun` and `accelerate launch`:

torchrun --nproc_per_node 2 scripts/train.py rnnsearch --dataset translation_de_en --output_dir runs/de-en
accelerate launch --config_file scripts/accelerate/ddp.yaml scripts/train.py rnnsearch --dataset ...
"""

import sys

from hf_attention_zoo.cli.failures import exit_code
from hf_attention_zoo.tasks.train import main

if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(program="python scripts/train.py")))
