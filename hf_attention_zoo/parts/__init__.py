"""What several models share beside attention and recurrence: a layer, checks of inputs, names of weights."""
