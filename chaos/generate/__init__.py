"""Histories that nobody ran: as long as asked, valid, or with exactly the anomalies that were asked for."""
