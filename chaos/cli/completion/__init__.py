"""Tab completion: what shells call, and what can be typed where the cursor stands (docs/guide/terminal.md)."""
