"""The host's side of the app: settings, limits, counts, and the sentences of refusals."""
