"""What a person reads of a run: the HTML page and the terminal's last lines.

Everything is a function of the run folder's small files. The package does not judge and does not read operations again:
verdicts come from ``results.json``, pictures from ``series.json`` and the events.
"""
