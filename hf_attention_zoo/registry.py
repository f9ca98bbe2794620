"""One row per architecture; everything else is derived from the rows.

Auto registration, `list_architectures`, the README's table, the headers of model cards and the parameters of the tests
all read this table. Importing it costs almost nothing: configurations and tokenizers are imported when transformers'
module of the same kind is first imported, model classes when an Auto class first asks for them.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.near_names import did_you_mean

if TYPE_CHECKING:
    from transformers import (
        BaseImageProcessor,
        PreTrainedConfig,
        PreTrainedModel,
        PreTrainedTokenizerBase,
        ProcessorMixin,
    )


def load_object(path: str) -> Any:
    """The object at "package.module:name"."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    Attributes:
        model_type: the folder under `models/` and the `model_type` of its config.
        prefix: the class prefix, as in `<prefix>Config`.
        title, year, paper, authors: of the paper; `paper` is an arXiv id, an ACL anthology id or an address.
        tasks: pipeline tasks that the trained model serves.
        models: Auto class name -> model class name(s) in the modeling file.
        tokenizer, image_processor, processor: "module:name", or None.
        aligner: "module:name" of the function behind `hf_attention_zoo.align` for this architecture.
    """

    model_type: str
    prefix: str
    title: str
    year: int
    paper: str
    authors: tuple[str, ...]
    tasks: tuple[str, ...]
    models: dict[str, str] = field(hash=False)
    tokenizer: str | None = None
    image_processor: str | None = None
    processor: str | None = None
    aligner: str | None = None

    def _module(self, kind: str) -> str:
        return f"hf_attention_zoo.models.{self.model_type}.{kind}_{self.model_type}"

    def _fact(self, name: str) -> Any:
        return load_object(f"{self._module('facts')}:{name}")

    @property
    def config_class(self) -> type[PreTrainedConfig]:
        return load_object(f"{self._module('configuration')}:{self.prefix}Config")

    @property
    def model_classes(self) -> dict[str, type[PreTrainedModel]]:
        """Auto class name -> model class."""
        return {auto: load_object(f"{self._module('modeling')}:{name}") for auto, name in self.models.items()}

    @property
    def tokenizer_class(self) -> type[PreTrainedTokenizerBase] | None:
        return None if self.tokenizer is None else load_object(self.tokenizer)

    def train_tokenizer(self, texts: Iterable[Any], *more: Iterable[Any], **settings: Any) -> PreTrainedTokenizerBase:
        """A tokenizer of this architecture, learnt from texts; the rest as its class's own `train` has it.

        Raises:
            ValueError: the architecture has no tokenizer.
        """
        if self.tokenizer is None:
            raise ValueError(f"{self.model_type} has no tokenizer of its own; give the folder of one")
        return load_object(self.tokenizer).train(texts, *more, **settings)

    @property
    def image_processor_class(self) -> type[BaseImageProcessor] | None:
        return None if self.image_processor is None else load_object(self.image_processor)

    @property
    def processor_class(self) -> type[ProcessorMixin] | None:
        return None if self.processor is None else load_object(self.processor)

    @property
    def paper_url(self) -> str:
        if "://" in self.paper:
            return self.paper
        return (
            f"https://arxiv.org/abs/{self.paper}"
            if self.paper[0].isdigit()
            else f"https://aclanthology.org/{self.paper}"
        )

    @property
    def lead(self) -> str:
        """The authors' family names as a text cites them: one, two, or the first of more."""
        families = [author.split()[-1] for author in self.authors]
        return " and ".join(families) if len(families) < 3 else f"{families[0]} et al."

    def paper_config(self) -> PreTrainedConfig:
        """A config of the paper's sizes."""
        return self.config_class(**self._fact("PAPER_CONFIG"))

    @property
    def paper_parameters(self) -> int:
        """The exact number of parameters of `paper_config()`."""
        return self._fact("PAPER_PARAMETERS")

    def tiny_config(self) -> PreTrainedConfig:
        """A config of sizes 4 to 16 and a vocabulary of at most 64, for tests and documentation."""
        return self.config_class(**self._fact("TINY_CONFIG"))

    @property
    def reported_results(self) -> list[dict[str, Any]]:
        """The paper's own numbers, each with the table that it stands in."""
        return self._fact("REPORTED_RESULTS")

    @property
    def recipes(self) -> dict[str, dict[str, Any]]:
        """Named training recipes."""
        return self._fact("RECIPES")

    @property
    def adapter_targets(self) -> tuple[str, ...]:
        """Names of the layers to adapt, for `LoraConfig(target_modules=[*row.adapter_targets])` of PEFT."""
        return self._fact("ADAPTER_TARGETS")

    @property
    def pretraining_recipes(self) -> dict[str, dict[str, Any]]:
        """Named settings of the pre-training on raw text; none for what is trained on a task alone."""
        module = self._module("pretraining")
        if importlib.util.find_spec(module) is None:
            return {}
        return load_object(f"{module}:PRETRAINING_RECIPES")

    @property
    def bibtex(self) -> str:
        return self._fact("BIBTEX")


CAUSAL = "AutoModelForCausalLM"
TRANSLATION_TOKENIZER = "hf_attention_zoo.tokenization.translation_tokenizer:TranslationTokenizer"
TEXT_TOKENIZER = "hf_attention_zoo.tokenization.text_tokenizer:TextTokenizer"
TOKEN_ALIGNER = "hf_attention_zoo.alignment.results.token_alignment:align_tokens"
SEQ2SEQ_ALIGNER = "hf_attention_zoo.alignment.results.seq2seq_alignment:align_seq2seq"

ARCHITECTURES: tuple[Architecture, ...] = (
    Architecture(
        model_type="elman",
        prefix="Elman",
        title="Finding Structure in Time",
        year=1990,
        paper="https://doi.org/10.1207/s15516709cog1402_1",
        authors=("Jeffrey L. Elman",),
        tasks=("text-generation", "text-classification"),
        models={
            "AutoModel": "ElmanModel",
            "AutoModelForSequenceClassification": "ElmanForSequenceClassification",
            "AutoModelForCausalLM": "ElmanForCausalLM",
        },
        tokenizer=TEXT_TOKENIZER,
    ),
    Architecture(
        model_type="lstm1997",
        prefix="LSTM1997",
        title="Long Short-Term Memory",
        year=1997,
        paper="https://doi.org/10.1162/neco.1997.9.8.1735",
        authors=("Sepp Hochreiter", "Jürgen Schmidhuber"),
        tasks=("text-generation", "text-classification"),
        models={
            "AutoModel": "LSTM1997Model",
            "AutoModelForSequenceClassification": "LSTM1997ForSequenceClassification",
            "AutoModelForCausalLM": "LSTM1997ForCausalLM",
        },
        tokenizer=TEXT_TOKENIZER,
    ),
    Architecture(
        model_type="nnlm",
        prefix="NNLM",
        title="A Neural Probabilistic Language Model",
        year=2003,
        paper="https://www.jmlr.org/papers/v3/bengio03a.html",
        authors=("Yoshua Bengio", "Réjean Ducharme", "Pascal Vincent", "Christian Jauvin"),
        tasks=("text-generation",),
        models={"AutoModel": "NNLMModel", "AutoModelForCausalLM": "NNLMForCausalLM"},
        tokenizer=TEXT_TOKENIZER,
    ),
    Architecture(
        model_type="word2vec",
        prefix="Word2Vec",
        title="Distributed Representations of Words and Phrases and their Compositionality",
        year=2013,
        paper="1310.4546",
        authors=("Tomas Mikolov", "Ilya Sutskever", "Kai Chen", "Greg S. Corrado", "Jeffrey Dean"),
        tasks=("feature-extraction",),
        models={"AutoModel": "Word2VecModel", "AutoModelForPreTraining": "Word2VecForPreTraining"},
        tokenizer=TEXT_TOKENIZER,
    ),
    Architecture(
        model_type="rnn_encoder_decoder",
        prefix="RNNEncoderDecoder",
        title="Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation",
        year=2014,
        paper="1406.1078",
        authors=(
            "Kyunghyun Cho",
            "Bart van Merriënboer",
            "Caglar Gulcehre",
            "Dzmitry Bahdanau",
            "Fethi Bougares",
            "Holger Schwenk",
            "Yoshua Bengio",
        ),
        tasks=("translation",),
        models={
            "AutoModel": "RNNEncoderDecoderModel",
            "AutoModelForSeq2SeqLM": "RNNEncoderDecoderForConditionalGeneration",
        },
        tokenizer=TRANSLATION_TOKENIZER,
    ),
    Architecture(
        model_type="seq2seq_lstm",
        prefix="Seq2SeqLSTM",
        title="Sequence to Sequence Learning with Neural Networks",
        year=2014,
        paper="1409.3215",
        authors=("Ilya Sutskever", "Oriol Vinyals", "Quoc V. Le"),
        tasks=("translation",),
        models={"AutoModel": "Seq2SeqLSTMModel", "AutoModelForSeq2SeqLM": "Seq2SeqLSTMForConditionalGeneration"},
        tokenizer=TRANSLATION_TOKENIZER,
    ),
    Architecture(
        model_type="rnnsearch",
        prefix="RNNsearch",
        title="Neural Machine Translation by Jointly Learning to Align and Translate",
        year=2015,
        paper="1409.0473",
        authors=("Dzmitry Bahdanau", "Kyunghyun Cho", "Yoshua Bengio"),
        tasks=("translation",),
        models={"AutoModel": "RNNsearchModel", "AutoModelForSeq2SeqLM": "RNNsearchForConditionalGeneration"},
        tokenizer=TRANSLATION_TOKENIZER,
        aligner=SEQ2SEQ_ALIGNER,
    ),
    Architecture(
        model_type="luong",
        prefix="Luong",
        title="Effective Approaches to Attention-based Neural Machine Translation",
        year=2015,
        paper="1508.04025",
        authors=("Minh-Thang Luong", "Hieu Pham", "Christopher D. Manning"),
        tasks=("translation",),
        models={"AutoModel": "LuongModel", "AutoModelForSeq2SeqLM": "LuongForConditionalGeneration"},
        tokenizer=TRANSLATION_TOKENIZER,
        aligner=SEQ2SEQ_ALIGNER,
    ),
    Architecture(
        model_type="show_attend_tell",
        prefix="ShowAttendTell",
        title="Show, Attend and Tell: Neural Image Caption Generation with Visual Attention",
        year=2015,
        paper="1502.03044",
        authors=(
            "Kelvin Xu",
            "Jimmy Lei Ba",
            "Ryan Kiros",
            "Kyunghyun Cho",
            "Aaron Courville",
            "Ruslan Salakhutdinov",
            "Richard S. Zemel",
            "Yoshua Bengio",
        ),
        tasks=("image-captioning", "image-text-to-text"),
        models={
            "AutoModel": "ShowAttendTellModel",
            "AutoModelForImageTextToText": "ShowAttendTellForConditionalGeneration",
        },
        tokenizer="hf_attention_zoo.tokenization.caption_tokenizer:CaptionTokenizer",
        image_processor="hf_attention_zoo.images.picture_processor:PictureProcessor",
        processor="hf_attention_zoo.models.show_attend_tell.processing_show_attend_tell:ShowAttendTellProcessor",
        aligner="hf_attention_zoo.alignment.results.picture_attention:align_pictures",
    ),
    Architecture(
        model_type="han",
        prefix="HAN",
        title="Hierarchical Attention Networks for Document Classification",
        year=2016,
        paper="N16-1174",
        authors=("Zichao Yang", "Diyi Yang", "Chris Dyer", "Xiaodong He", "Alex Smola", "Eduard Hovy"),
        tasks=("text-classification",),
        models={"AutoModel": "HANModel", "AutoModelForSequenceClassification": "HANForSequenceClassification"},
        tokenizer="hf_attention_zoo.tokenization.hierarchical_tokenizer:HierarchicalTokenizer",
        aligner="hf_attention_zoo.alignment.results.document_attention:align_documents",
    ),
    Architecture(
        model_type="fasttext",
        prefix="FastText",
        title="Bag of Tricks for Efficient Text Classification",
        year=2016,
        paper="1607.01759",
        authors=("Armand Joulin", "Edouard Grave", "Piotr Bojanowski", "Tomas Mikolov"),
        tasks=("text-classification", "feature-extraction"),
        models={
            "AutoModel": "FastTextModel",
            "AutoModelForSequenceClassification": "FastTextForSequenceClassification",
        },
        tokenizer="hf_attention_zoo.tokenization.hashed_ngram_tokenizer:HashedNGramTokenizer",
    ),
    Architecture(
        model_type="self_attentive",
        prefix="SelfAttentive",
        title="A Structured Self-attentive Sentence Embedding",
        year=2017,
        paper="1703.03130",
        authors=(
            "Zhouhan Lin",
            "Minwei Feng",
            "Cicero Nogueira dos Santos",
            "Mo Yu",
            "Bing Xiang",
            "Bowen Zhou",
            "Yoshua Bengio",
        ),
        tasks=("text-classification", "feature-extraction"),
        models={
            "AutoModel": "SelfAttentiveModel",
            "AutoModelForSequenceClassification": "SelfAttentiveForSequenceClassification",
        },
        tokenizer=TEXT_TOKENIZER,
        aligner="hf_attention_zoo.alignment.results.hop_attention:align_hops",
    ),
    Architecture(
        model_type="transformer2017",
        prefix="Transformer2017",
        title="Attention Is All You Need",
        year=2017,
        paper="1706.03762",
        authors=(
            "Ashish Vaswani",
            "Noam Shazeer",
            "Niki Parmar",
            "Jakob Uszkoreit",
            "Llion Jones",
            "Aidan N. Gomez",
            "Lukasz Kaiser",
            "Illia Polosukhin",
        ),
        tasks=("translation",),
        models={
            "AutoModel": "Transformer2017Model",
            "AutoModelForSeq2SeqLM": "Transformer2017ForConditionalGeneration",
        },
        tokenizer=TRANSLATION_TOKENIZER,
        aligner=SEQ2SEQ_ALIGNER,
    ),
    Architecture(
        model_type="elmo",
        prefix="ELMo",
        title="Deep contextualized word representations",
        year=2018,
        paper="1802.05365",
        authors=(
            "Matthew E. Peters",
            "Mark Neumann",
            "Mohit Iyyer",
            "Matt Gardner",
            "Christopher Clark",
            "Kenton Lee",
            "Luke Zettlemoyer",
        ),
        tasks=("feature-extraction", "text-classification", "token-classification"),
        models={
            "AutoModelForPreTraining": "ELMoForPreTraining",
            "AutoModelForSequenceClassification": "ELMoForSequenceClassification",
            "AutoModelForTokenClassification": "ELMoForTokenClassification",
            "AutoModel": "ELMoModel",
        },
        tokenizer="hf_attention_zoo.tokenization.word_character_tokenizer:WordCharacterTokenizer",
    ),
    Architecture(
        model_type="gpt2018",
        prefix="GPT2018",
        title="Improving Language Understanding by Generative Pre-Training",
        year=2018,
        paper="https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf",
        authors=("Alec Radford", "Karthik Narasimhan", "Tim Salimans", "Ilya Sutskever"),
        tasks=("text-generation", "text-classification"),
        models={
            "AutoModel": "GPT2018Model",
            "AutoModelForSequenceClassification": "GPT2018ForSequenceClassification",
            "AutoModelForMultipleChoice": "GPT2018ForMultipleChoice",
            "AutoModelForCausalLM": "GPT2018ForCausalLM",
        },
        tokenizer="hf_attention_zoo.tokenization.gpt2018_tokenizer:GPT2018Tokenizer",
        aligner=TOKEN_ALIGNER,
    ),
    Architecture(
        model_type="bert2018",
        prefix="BERT2018",
        title="BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        year=2018,
        paper="1810.04805",
        authors=("Jacob Devlin", "Ming-Wei Chang", "Kenton Lee", "Kristina Toutanova"),
        tasks=("fill-mask", "text-classification", "token-classification", "question-answering"),
        models={
            "AutoModel": "BERT2018Model",
            "AutoModelForMaskedLM": "BERT2018ForMaskedLM",
            "AutoModelForNextSentencePrediction": "BERT2018ForNextSentencePrediction",
            "AutoModelForSequenceClassification": "BERT2018ForSequenceClassification",
            "AutoModelForTokenClassification": "BERT2018ForTokenClassification",
            "AutoModelForQuestionAnswering": "BERT2018ForQuestionAnswering",
            "AutoModelForMultipleChoice": "BERT2018ForMultipleChoice",
            "AutoModelForPreTraining": "BERT2018ForPreTraining",
        },
        tokenizer="hf_attention_zoo.tokenization.bert2018_tokenizer:BERT2018Tokenizer",
        aligner=TOKEN_ALIGNER,
    ),
)


def list_architectures() -> list[Architecture]:
    """All rows in order of year."""
    return sorted(ARCHITECTURES, key=lambda row: row.year)


def get_architecture(name: str) -> Architecture:
    """The row of a `model_type`.

    Raises:
        ValueError: if there is none; the message lists those that there are.
    """
    for row in ARCHITECTURES:
        if row.model_type == name:
            return row
    known = [row.model_type for row in list_architectures()]
    meant = did_you_mean(str(name), known)
    raise ValueError(f"no architecture is called {name!r}{meant}; there are: {', '.join(known)}")


def architecture_table() -> str:
    """The rows as a Markdown table, for the README."""
    lines = ["| `model_type` | Paper | Year | Tasks | Auto classes |", "|---|---|---|---|---|"]
    for row in list_architectures():
        autos = ", ".join(f"`{name}`" for name in row.models)
        tasks = ", ".join(row.tasks)
        lines.append(
            f"| `{row.model_type}` | {row.lead}, [{row.title}]({row.paper_url}) | {row.year} | {tasks} | {autos} |"
        )
    return "\n".join(lines)
