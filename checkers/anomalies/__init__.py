"""Anomalies in words: findings, whose fault they are, and the headline."""
