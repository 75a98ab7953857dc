"""The fuzzer: files and actions with something wrong in them, and what the engine says to it.

What is allowed: it is fine, or an error that is documented, in few words, that names the file.
"""
