"""Finding bugs without a hand: what a failing run needs to fail (``shrink``)."""
