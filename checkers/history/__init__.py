"""What every check reads: the tables of a history, its events, and one queue's columns."""
