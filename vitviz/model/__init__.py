"""The machine: what a Vision Transformer is, where its weights come from, how a photo becomes pixels."""
