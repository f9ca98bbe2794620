"""Hidden words and continued texts: "fill-mask" looks at the model, "text-generation" at the tokenizer."""

from hf_attention_zoo.tasks.pipeline_table import replace
from hf_attention_zoo.tasks.running_text.continued_texts import ContinuedTextPipeline
from hf_attention_zoo.tasks.running_text.hidden_words import HiddenWordPipeline


def register() -> None:
    """Take the zoo's classes for transformers' own tasks; they serve every other model as before."""
    replace("fill-mask", HiddenWordPipeline)
    replace("text-generation", ContinuedTextPipeline)
