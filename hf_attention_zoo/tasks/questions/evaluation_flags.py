"""The flags of `attention-zoo evaluate` for models that answer questions."""

from __future__ import annotations

from hf_attention_zoo.evaluation.evaluation_flags import add_common_flags
from hf_attention_zoo.flags import FlagParser

COLUMNS = ("question_column", "context_column", "answers_column")
DESCRIPTION = (
    "Score answers to questions and write metrics.json. Where some have none, the threshold of the empty answer is "
    'chosen on the validation split; hand it to pipeline("question-answering", ...) as null_threshold.'
)


def build_parser(program: str) -> FlagParser:
    """The parser of the command."""
    parser = FlagParser(prog=program, description=DESCRIPTION)
    parser.add_argument("--doc_stride", "--doc-stride", type=int, help="tokens by which windows move on")
    add_common_flags(parser, COLUMNS, "questions", batch_size=16)
    return parser
