"""The verb `explore`: what can happen in a scenario, whatever the order of messages, timers and events."""
