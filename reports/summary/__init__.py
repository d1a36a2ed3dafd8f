"""The last lines that a terminal shows of a run or of a judged history."""
