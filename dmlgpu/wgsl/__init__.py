"""Shader text from files, its bindings and its parameters."""
