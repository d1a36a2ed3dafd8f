"""Where nodes live and what runs on them: hosts, their network, their processes, and the systems under test.

Imports ``chaos.core`` only; does not know faults.
"""
