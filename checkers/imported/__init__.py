"""Histories that other tools recorded: read, judged by a model, and told in the shape of ``results.json``.

``judge`` is the way in; it is what both engines run on a file.
"""
