"""Transactions: the judge of list-append and rw-register histories."""
