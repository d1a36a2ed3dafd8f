"""etcd: a key-value store on one Raft group of three members."""
