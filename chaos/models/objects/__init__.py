"""The models of single objects: ``register``, ``set`` and ``counter``, many of each, a key apiece."""
