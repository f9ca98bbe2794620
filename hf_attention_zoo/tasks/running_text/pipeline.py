"""Hidden words and continued texts: "fill-mask" looks at the model, "text-generation" at the tokenizer.

Each of the two takes its class when it is imported; they serve every other model as before.
"""

from hf_attention_zoo.tasks.running_text import continued_texts, hidden_words  # noqa: F401
