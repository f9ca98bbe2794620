"""Time loops, the weight tape, and every hand-written backward pass beside the formula that it must equal."""
