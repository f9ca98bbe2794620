"""Cards of pre-trained models."""

from hf_attention_zoo.folders.card_text import Metric
from hf_attention_zoo.folders.task_card import TaskCard, Wording

CARD = TaskCard(
    wording={
        "fill-mask": Wording(
            purpose="fills in hidden words, pre-trained for other tasks", reading="time to read the split"
        ),
        "text-generation": Wording(
            purpose="continues texts, pre-trained for other tasks",
            reading="time to read the split",
            pipeline_options=", do_sample=False, max_new_tokens=30",
        ),
    },
    metrics={
        "perplexity": Metric("perplexity", "perplexity per token", falls=True),
        "perplexity_per_word": Metric("perplexity", "perplexity per word", falls=True),
        "forward_perplexity": Metric("perplexity", "perplexity, left to right", falls=True),
        "backward_perplexity": Metric("perplexity", "perplexity, right to left", falls=True),
        "masked_perplexity": Metric("perplexity", "perplexity of hidden tokens", falls=True),
        "masked_accuracy": Metric("accuracy", "hidden tokens right", percent=True),
        "next_sentence_accuracy": Metric("accuracy", "next sentences right", percent=True),
    },
    baselines={f"{tokens}-gram": f"Kneser-Ney, {tokens} token{'s' if tokens > 1 else ''}" for tokens in range(1, 5)},
)
