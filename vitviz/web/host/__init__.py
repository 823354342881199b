"""What a host sets and sees: settings, limits, counts, and the sentences of a refusal."""
