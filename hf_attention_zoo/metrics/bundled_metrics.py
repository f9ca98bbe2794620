"""The `evaluate` modules that come with the package; they load without network."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluate import EvaluationModule

METRICS_FOLDER = Path(__file__).parent


def list_metrics() -> list[str]:
    """Names of the modules, in alphabetical order."""
    return sorted(path.name for path in METRICS_FOLDER.iterdir() if (path / f"{path.name}.py").is_file())


def load_metric(name: str, **kwargs: Any) -> "EvaluationModule":
    """`evaluate.load` for a module of this package; further keywords go to it. Raises ValueError for another name."""
    if name not in list_metrics():
        raise ValueError(f"no metric {name!r} in this package; it has {', '.join(list_metrics())}")
    import evaluate

    return evaluate.load(str(METRICS_FOLDER / name), **kwargs)
