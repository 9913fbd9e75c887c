"""Tests of the search over an agent's settings."""
