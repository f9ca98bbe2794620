# Written by scripts/write_types.py.
from hf_attention_zoo.alignment.aligning import align as align
from hf_attention_zoo.alignment.results.aligned import Alignment as Alignment
from hf_attention_zoo.alignment.results.document_attention import DocumentAttention as DocumentAttention
from hf_attention_zoo.alignment.results.hop_attention import HopAttention as HopAttention
from hf_attention_zoo.alignment.results.picture_attention import PictureAttention as PictureAttention
from hf_attention_zoo.alignment.results.sentence_projection import SentenceProjection as SentenceProjection
from hf_attention_zoo.alignment.results.sentence_projection import project_sentences as project_sentences
from hf_attention_zoo.alignment.results.word_clusters import WordClusters as WordClusters
from hf_attention_zoo.alignment.results.word_clusters import cluster_words as cluster_words
from hf_attention_zoo.alignment.results.word_space import WordSpace as WordSpace
from hf_attention_zoo.data.samples import list_samples as list_samples
from hf_attention_zoo.hub.code_export import export_with_code as export_with_code
from hf_attention_zoo.hub.publishing import publish as publish
from hf_attention_zoo.images.picture_processor import PictureProcessor as PictureProcessor
from hf_attention_zoo.models.bert2018.configuration_bert2018 import BERT2018Config as BERT2018Config
from hf_attention_zoo.models.bert2018.modeling_bert2018 import BERT2018ForMaskedLM as BERT2018ForMaskedLM
from hf_attention_zoo.models.bert2018.modeling_bert2018 import BERT2018ForMultipleChoice as BERT2018ForMultipleChoice
from hf_attention_zoo.models.bert2018.modeling_bert2018 import (
    BERT2018ForNextSentencePrediction as BERT2018ForNextSentencePrediction,
)
from hf_attention_zoo.models.bert2018.modeling_bert2018 import BERT2018ForPreTraining as BERT2018ForPreTraining
from hf_attention_zoo.models.bert2018.modeling_bert2018 import (
    BERT2018ForQuestionAnswering as BERT2018ForQuestionAnswering,
)
from hf_attention_zoo.models.bert2018.modeling_bert2018 import (
    BERT2018ForSequenceClassification as BERT2018ForSequenceClassification,
)
from hf_attention_zoo.models.bert2018.modeling_bert2018 import (
    BERT2018ForTokenClassification as BERT2018ForTokenClassification,
)
from hf_attention_zoo.models.bert2018.modeling_bert2018 import BERT2018Model as BERT2018Model
from hf_attention_zoo.models.elman.configuration_elman import ElmanConfig as ElmanConfig
from hf_attention_zoo.models.elman.modeling_elman import ElmanForCausalLM as ElmanForCausalLM
from hf_attention_zoo.models.elman.modeling_elman import (
    ElmanForSequenceClassification as ElmanForSequenceClassification,
)
from hf_attention_zoo.models.elman.modeling_elman import ElmanModel as ElmanModel
from hf_attention_zoo.models.elmo.configuration_elmo import ELMoConfig as ELMoConfig
from hf_attention_zoo.models.elmo.modeling_elmo import ELMoForPreTraining as ELMoForPreTraining
from hf_attention_zoo.models.elmo.modeling_elmo import ELMoForSequenceClassification as ELMoForSequenceClassification
from hf_attention_zoo.models.elmo.modeling_elmo import ELMoForTokenClassification as ELMoForTokenClassification
from hf_attention_zoo.models.elmo.modeling_elmo import ELMoModel as ELMoModel
from hf_attention_zoo.models.fasttext.configuration_fasttext import FastTextConfig as FastTextConfig
from hf_attention_zoo.models.fasttext.modeling_fasttext import (
    FastTextForSequenceClassification as FastTextForSequenceClassification,
)
from hf_attention_zoo.models.fasttext.modeling_fasttext import FastTextModel as FastTextModel
from hf_attention_zoo.models.gpt2018.configuration_gpt2018 import GPT2018Config as GPT2018Config
from hf_attention_zoo.models.gpt2018.modeling_gpt2018 import GPT2018ForCausalLM as GPT2018ForCausalLM
from hf_attention_zoo.models.gpt2018.modeling_gpt2018 import GPT2018ForMultipleChoice as GPT2018ForMultipleChoice
from hf_attention_zoo.models.gpt2018.modeling_gpt2018 import (
    GPT2018ForSequenceClassification as GPT2018ForSequenceClassification,
)
from hf_attention_zoo.models.gpt2018.modeling_gpt2018 import GPT2018Model as GPT2018Model
from hf_attention_zoo.models.han.configuration_han import HANConfig as HANConfig
from hf_attention_zoo.models.han.modeling_han import HANForSequenceClassification as HANForSequenceClassification
from hf_attention_zoo.models.han.modeling_han import HANModel as HANModel
from hf_attention_zoo.models.lstm1997.configuration_lstm1997 import LSTM1997Config as LSTM1997Config
from hf_attention_zoo.models.lstm1997.modeling_lstm1997 import LSTM1997ForCausalLM as LSTM1997ForCausalLM
from hf_attention_zoo.models.lstm1997.modeling_lstm1997 import (
    LSTM1997ForSequenceClassification as LSTM1997ForSequenceClassification,
)
from hf_attention_zoo.models.lstm1997.modeling_lstm1997 import LSTM1997Model as LSTM1997Model
from hf_attention_zoo.models.luong.configuration_luong import LuongConfig as LuongConfig
from hf_attention_zoo.models.luong.modeling_luong import LuongForConditionalGeneration as LuongForConditionalGeneration
from hf_attention_zoo.models.luong.modeling_luong import LuongModel as LuongModel
from hf_attention_zoo.models.nnlm.configuration_nnlm import NNLMConfig as NNLMConfig
from hf_attention_zoo.models.nnlm.modeling_nnlm import NNLMForCausalLM as NNLMForCausalLM
from hf_attention_zoo.models.nnlm.modeling_nnlm import NNLMModel as NNLMModel
from hf_attention_zoo.models.rnn_encoder_decoder.configuration_rnn_encoder_decoder import (
    RNNEncoderDecoderConfig as RNNEncoderDecoderConfig,
)
from hf_attention_zoo.models.rnn_encoder_decoder.modeling_rnn_encoder_decoder import (
    RNNEncoderDecoderForConditionalGeneration as RNNEncoderDecoderForConditionalGeneration,
)
from hf_attention_zoo.models.rnn_encoder_decoder.modeling_rnn_encoder_decoder import (
    RNNEncoderDecoderModel as RNNEncoderDecoderModel,
)
from hf_attention_zoo.models.rnnsearch.configuration_rnnsearch import RNNsearchConfig as RNNsearchConfig
from hf_attention_zoo.models.rnnsearch.modeling_rnnsearch import (
    RNNsearchForConditionalGeneration as RNNsearchForConditionalGeneration,
)
from hf_attention_zoo.models.rnnsearch.modeling_rnnsearch import RNNsearchModel as RNNsearchModel
from hf_attention_zoo.models.self_attentive.configuration_self_attentive import (
    SelfAttentiveConfig as SelfAttentiveConfig,
)
from hf_attention_zoo.models.self_attentive.modeling_self_attentive import (
    SelfAttentiveForSequenceClassification as SelfAttentiveForSequenceClassification,
)
from hf_attention_zoo.models.self_attentive.modeling_self_attentive import SelfAttentiveModel as SelfAttentiveModel
from hf_attention_zoo.models.seq2seq_lstm.configuration_seq2seq_lstm import Seq2SeqLSTMConfig as Seq2SeqLSTMConfig
from hf_attention_zoo.models.seq2seq_lstm.modeling_seq2seq_lstm import (
    Seq2SeqLSTMForConditionalGeneration as Seq2SeqLSTMForConditionalGeneration,
)
from hf_attention_zoo.models.seq2seq_lstm.modeling_seq2seq_lstm import Seq2SeqLSTMModel as Seq2SeqLSTMModel
from hf_attention_zoo.models.show_attend_tell.configuration_show_attend_tell import (
    ShowAttendTellConfig as ShowAttendTellConfig,
)
from hf_attention_zoo.models.show_attend_tell.modeling_show_attend_tell import (
    ShowAttendTellForConditionalGeneration as ShowAttendTellForConditionalGeneration,
)
from hf_attention_zoo.models.show_attend_tell.modeling_show_attend_tell import (
    ShowAttendTellModel as ShowAttendTellModel,
)
from hf_attention_zoo.models.show_attend_tell.processing_show_attend_tell import (
    ShowAttendTellProcessor as ShowAttendTellProcessor,
)
from hf_attention_zoo.models.transformer2017.configuration_transformer2017 import (
    Transformer2017Config as Transformer2017Config,
)
from hf_attention_zoo.models.transformer2017.modeling_transformer2017 import (
    Transformer2017ForConditionalGeneration as Transformer2017ForConditionalGeneration,
)
from hf_attention_zoo.models.transformer2017.modeling_transformer2017 import (
    Transformer2017Model as Transformer2017Model,
)
from hf_attention_zoo.models.word2vec.configuration_word2vec import Word2VecConfig as Word2VecConfig
from hf_attention_zoo.models.word2vec.modeling_word2vec import Word2VecForPreTraining as Word2VecForPreTraining
from hf_attention_zoo.models.word2vec.modeling_word2vec import Word2VecModel as Word2VecModel
from hf_attention_zoo.registry import get_architecture as get_architecture
from hf_attention_zoo.registry import list_architectures as list_architectures
from hf_attention_zoo.seq2seq.ensemble import TranslationEnsemble as TranslationEnsemble
from hf_attention_zoo.seq2seq.translating import translate as translate
from hf_attention_zoo.tasks.captions.rows import load_captions as load_captions
from hf_attention_zoo.tasks.labels.rows import load_labelled as load_labelled
from hf_attention_zoo.tasks.translation.phrase_scoring import score as score
from hf_attention_zoo.tasks.translation.rows import load_data as load_data
from hf_attention_zoo.tokenization.bert2018_tokenizer import BERT2018Tokenizer as BERT2018Tokenizer
from hf_attention_zoo.tokenization.caption_tokenizer import CaptionTokenizer as CaptionTokenizer
from hf_attention_zoo.tokenization.gpt2018_tokenizer import GPT2018Tokenizer as GPT2018Tokenizer
from hf_attention_zoo.tokenization.hierarchical_tokenizer import HierarchicalTokenizer as HierarchicalTokenizer
from hf_attention_zoo.tokenization.text_tokenizer import TextTokenizer as TextTokenizer
from hf_attention_zoo.tokenization.translation_tokenizer import TranslationTokenizer as TranslationTokenizer

__version__: str
__all__ = [
    "Alignment",
    "BERT2018Config",
    "BERT2018ForMaskedLM",
    "BERT2018ForMultipleChoice",
    "BERT2018ForNextSentencePrediction",
    "BERT2018ForPreTraining",
    "BERT2018ForQuestionAnswering",
    "BERT2018ForSequenceClassification",
    "BERT2018ForTokenClassification",
    "BERT2018Model",
    "BERT2018Tokenizer",
    "CaptionTokenizer",
    "DocumentAttention",
    "ELMoConfig",
    "ELMoForPreTraining",
    "ELMoForSequenceClassification",
    "ELMoForTokenClassification",
    "ELMoModel",
    "ElmanConfig",
    "ElmanForCausalLM",
    "ElmanForSequenceClassification",
    "ElmanModel",
    "FastTextConfig",
    "FastTextForSequenceClassification",
    "FastTextModel",
    "GPT2018Config",
    "GPT2018ForCausalLM",
    "GPT2018ForMultipleChoice",
    "GPT2018ForSequenceClassification",
    "GPT2018Model",
    "GPT2018Tokenizer",
    "HANConfig",
    "HANForSequenceClassification",
    "HANModel",
    "HierarchicalTokenizer",
    "HopAttention",
    "LSTM1997Config",
    "LSTM1997ForCausalLM",
    "LSTM1997ForSequenceClassification",
    "LSTM1997Model",
    "LuongConfig",
    "LuongForConditionalGeneration",
    "LuongModel",
    "NNLMConfig",
    "NNLMForCausalLM",
    "NNLMModel",
    "PictureAttention",
    "PictureProcessor",
    "RNNEncoderDecoderConfig",
    "RNNEncoderDecoderForConditionalGeneration",
    "RNNEncoderDecoderModel",
    "RNNsearchConfig",
    "RNNsearchForConditionalGeneration",
    "RNNsearchModel",
    "SelfAttentiveConfig",
    "SelfAttentiveForSequenceClassification",
    "SelfAttentiveModel",
    "SentenceProjection",
    "Seq2SeqLSTMConfig",
    "Seq2SeqLSTMForConditionalGeneration",
    "Seq2SeqLSTMModel",
    "ShowAttendTellConfig",
    "ShowAttendTellForConditionalGeneration",
    "ShowAttendTellModel",
    "ShowAttendTellProcessor",
    "TextTokenizer",
    "Transformer2017Config",
    "Transformer2017ForConditionalGeneration",
    "Transformer2017Model",
    "TranslationEnsemble",
    "TranslationTokenizer",
    "Word2VecConfig",
    "Word2VecForPreTraining",
    "Word2VecModel",
    "WordClusters",
    "WordSpace",
    "align",
    "cluster_words",
    "export_with_code",
    "get_architecture",
    "list_architectures",
    "list_samples",
    "load_captions",
    "load_data",
    "load_labelled",
    "project_sentences",
    "publish",
    "score",
    "translate",
]
