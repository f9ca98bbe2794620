"""hf_attention_zoo: the historical attention architectures as first-class transformers models."""
