"""tinykv under chaos: a key-value server and what chaos must know of it."""
