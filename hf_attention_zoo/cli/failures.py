"""How a command fails: one clear line and exit code 2 for what the user can mend, no traceback."""

import os
import sys
from collections.abc import Callable

TRACEBACK_VARIABLE = "ATTENTION_ZOO_TRACEBACK"
USER_ERROR = 2
INTERRUPTED = 130


def exit_code(run: Callable[[], int | None]) -> int:
    """Run a command and turn its errors into a line on stderr and an exit code.

    Wrong values, missing files, missing packages and a network that is not there give 2; Ctrl-C gives 130. With
    ATTENTION_ZOO_TRACEBACK=1 in the environment the traceback is shown instead.
    """
    try:
        return run() or 0
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (kept open until the process ends)
        return 0
    except (ValueError, OSError, ImportError) as error:
        if os.environ.get(TRACEBACK_VARIABLE) == "1":
            raise
        text = " ".join(str(error).split()) or type(error).__name__
        print(f"attention-zoo: {text}", file=sys.stderr)
        return USER_ERROR
