"""The fault ``file-limit``: processes may open no more files and connections."""
