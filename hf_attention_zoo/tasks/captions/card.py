"""Cards of captioners."""

from hf_attention_zoo.evaluation.group_table import results_by_group
from hf_attention_zoo.folders.card_text import Metric
from hf_attention_zoo.folders.task_card import TaskCard, Wording

CARD = TaskCard(
    wording={
        "image-text-to-text": Wording(
            purpose="captions pictures",
            aligned=True,
            align_options=", num_beams={num_beams}",
            reading="captioning time",
            pipeline="image-captioning",
            reader="AutoProcessor",
        )
    },
    metrics={
        "perplexity_per_token": Metric("perplexity", "perplexity per token"),
        "bleu1": Metric("bleu", "BLEU-1"),
        "bleu4": Metric("bleu", "BLEU-4"),
        "cider": Metric("cider", "CIDEr", package="pycocoevalcap"),
        "meteor": Metric("meteor", "METEOR without synonyms", package="nltk"),
        "exact": Metric("exact_match", "exact matches in %"),
    },
    baselines={
        "most_frequent": "the most frequent caption",
        "nearest": "the caption of the training picture whose features are nearest",
    },
    example_words=(3, 16),
    right="the caption is that of the data, whatever its case",
    sections=(results_by_group,),
)
