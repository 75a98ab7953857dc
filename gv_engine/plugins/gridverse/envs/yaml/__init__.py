"""Environments from YAML files, as GridVerse reads them."""
