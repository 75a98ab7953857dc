"""YAML with source positions, and schemas of its values."""
