"""Cards of taggers."""

from hf_attention_zoo.evaluation.class_table import class_section
from hf_attention_zoo.folders.card_text import Metric
from hf_attention_zoo.folders.task_card import TaskCard, Wording

CARD = TaskCard(
    wording={
        "token-classification": Wording(
            purpose="gives each word a tag",
            reading="time to read the split",
            longer="Of a longer one the pipeline leaves the end without tags, with a warning; "
            '`stride={part}, aggregation_strategy="first"` in its call reads it in parts that overlap.',
            pipeline_options=', aggregation_strategy="first"',
            shown='[(one["word"], one["entity_group"]) for one in {}]',
        )
    },
    metrics={
        "accuracy": Metric("accuracy", "accuracy", percent=True),
        "macro_f1": Metric("f1", "macro F1", percent=True),
        "entity_f1": Metric("f1", "F1 of whole names", percent=True),
    },
    baselines={
        "majority": "the most frequent tag",
        "most_frequent_tag": "each word's most frequent tag",
    },
    example_words=(6, 20),
    right="every tag of the sentence is that of the data; of the others the wrong tags are shown",
    sections=(
        class_section("Kinds of names", "names", "in the text", "entities"),
        class_section("Tag by tag", "tag", "words"),
    ),
)
