"""Reading data: files and their columns, embedded samples, labels, word vectors, batches of like lengths."""
