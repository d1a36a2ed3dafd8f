"""From what somebody asked for to the resolved experiment: options, files, plans."""
