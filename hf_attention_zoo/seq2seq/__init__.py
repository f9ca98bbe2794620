"""What encoder-decoders share: body, head, state, generation, text in and out."""
