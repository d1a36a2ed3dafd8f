"""Made-up histories of objects: run folders for each model but logs, made column by column."""
