"""RocketMQ as a scenario's cluster: servers, clients, members, their settings and views."""
