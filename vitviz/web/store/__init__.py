"""Where the files of visitors lie, for about an hour."""
