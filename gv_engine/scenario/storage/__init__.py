"""Files, checked before they are read, and folders of data."""
