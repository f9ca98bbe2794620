"""Saved folders of models that make one vector of a text: Sentence Transformers reads there which output it is.

Without these files it takes the mean of `last_hidden_state` over the words, which in these models is a row for each
sentence or hop, so that a text's vector would depend on the texts beside it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedConfig as Mixed
else:
    Mixed = object

# What Sentence Transformers calls its files, and its module that runs a model of transformers.
MODULES = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
SETTINGS = {
    "transformer_task": "feature-extraction",
    "modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}},
    "module_output_name": "sentence_embedding",
}


class TextVectors(Mixed):
    """Writes the files beside the configuration; put it before `PreTrainedConfig` among the bases.

    The body's `pooler_output` is the vector of each text, (B, size). Models save their configurations beside their
    weights before anything is sent to the Hub, so that what is sent is whole.
    """

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """As ever, with `modules.json` and `sentence_bert_config.json`."""
        super().save_pretrained(save_directory, *args, **kwargs)
        for name, content in (("modules.json", MODULES), ("sentence_bert_config.json", SETTINGS)):
            Path(save_directory, name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
