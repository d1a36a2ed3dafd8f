"""The page of a history that another tool recorded: what was found in it, drawn."""
