"""Whether the programs that a run reports to are installed: asked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence

from transformers.integrations import integration_utils

# name for --report_to -> transformers' question whether it is there, and what to install
TRACKERS: dict[str, tuple[str, str]] = {
    "azure_ml": ("is_azureml_available", "azureml-sdk"),
    "clearml": ("is_clearml_available", "clearml"),
    "codecarbon": ("is_codecarbon_available", "codecarbon"),
    "comet_ml": ("is_comet_available", "comet_ml"),
    "dagshub": ("is_dagshub_available", "dagshub mlflow"),
    "dvclive": ("is_dvclive_available", "dvclive"),
    "flyte": ("is_flytekit_available", "flytekit"),
    "mlflow": ("is_mlflow_available", "mlflow"),
    "neptune": ("is_neptune_available", "neptune"),
    "swanlab": ("is_swanlab_available", "swanlab"),
    "tensorboard": ("is_tensorboard_available", "'hf_attention_zoo[tensorboard]'"),
    "trackio": ("is_trackio_available", "trackio"),
    "wandb": ("is_wandb_available", "wandb"),
}


def check_trackers(names: Sequence[str]) -> None:
    """Every tracker that a run reports to is known and installed.

    Raises:
        ValueError: one is not.
    """
    for name in names:
        if name not in integration_utils.INTEGRATION_TO_CALLBACK:
            known = ", ".join(TRACKERS)
            raise ValueError(f"--report_to {name}: there is no such tracker; give one of {known}, or none")
        if name in TRACKERS and not getattr(integration_utils, TRACKERS[name][0])():
            raise ValueError(
                f"--report_to {name} needs a program that is not installed: pip install {TRACKERS[name][1]}, or give "
                "--report_to none"
            )
