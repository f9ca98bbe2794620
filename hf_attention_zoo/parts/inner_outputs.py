"""Names of outputs that show what a model did and predict nothing, for `keys_to_ignore_at_inference`.

Trainer gathers everything else over a whole split and puts the batches into one tensor, which neither fits into memory
nor works for weights of batches of different widths. `Trainer.predict(..., ignore_keys=[])` asks for them all.
"""

INNER_OUTPUTS = (
    "cache",
    "hidden_states",
    "attentions",
    "decoder_hidden_states",
    "decoder_attentions",
    "cross_attentions",
    "encoder_last_hidden_state",
    "encoder_hidden_states",
    "encoder_attentions",
)
