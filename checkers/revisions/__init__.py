"""A whole key space with revisions: whether operations and watches fit one sequence of changes (semantics.md, 58)."""
