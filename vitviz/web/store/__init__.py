"""The store: files of visitors, kept for about an hour."""
