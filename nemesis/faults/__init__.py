"""Every kind of fault: how it acts, proves itself, heals, and proves that it healed."""
