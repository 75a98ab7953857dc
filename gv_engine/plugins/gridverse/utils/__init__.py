"""Helpers of GridVerse."""
