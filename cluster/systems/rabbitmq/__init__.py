"""RabbitMQ: nodes of one cluster, queues that they replicate or not, and clients that speak AMQP 0-9-1."""
