"""DLedger: nodes that keep one log by Raft, and clients that append to it and get entries by their index."""
