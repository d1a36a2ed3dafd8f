"""Wall clocks of nodes: the program that moves them, and the probe that reads them as processes see them."""
