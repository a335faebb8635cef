"""Reads the texts of statements: tokens, and a small grammar over them."""
