"""Commands speak for themselves: what the libraries underneath would print is kept to errors."""


def silence_libraries() -> None:
    """Turn off the progress bars and all but the errors of transformers and datasets, in this process."""
    import datasets
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    datasets.utils.logging.set_verbosity_error()
    datasets.disable_progress_bars()
