"""Thresholds of a run, and what makes its exit code that of a failure (SEMANTICS 27, 28)."""
