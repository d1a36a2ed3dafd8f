"""Models of objects: what a register, a mutex, a set or a queue may answer, decided from one object's operations.

``registry`` is the way in. The package knows no file format and no cluster: it is given operations, paired.
"""
