"""The machine: a Vision Transformer, where its weights come from, how a photo becomes pixels."""
