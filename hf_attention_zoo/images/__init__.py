"""Images: reading them, preparing them, and the encoders that make regions of them."""
