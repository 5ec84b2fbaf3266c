"""The doubles of aiokafka's consumer and producer: coroutines in virtual time, on an event loop of their own."""
