"""The claims of the papers, each run again: one file a claim in `claims/`, its results in `kept/`.

`claim.py` says what a claim is, `verdict.py` what its runs decide, `running.py` runs it, `kept_results.py` reads and
writes what came out. `attention-zoo reproduce` is the command.
"""
