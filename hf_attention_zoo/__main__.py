"""`python -m hf_attention_zoo` is the command `attention-zoo`, also where no script of it is on the path."""

import sys

from hf_attention_zoo.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
