"""RocketMQ on real connections: name server and brokers of the simulation before clients that nobody here wrote.

- `cluster`: a name server and brokers on ports of one process
- `conversation`: frames to messages and back; `requests` and `answers` are its two directions
- `name_server`, `broker`: the simulation's nodes with what only real clients ask of them
- `stored_messages`, `record_store`: records with their contents; `sending`, `pulling`, `sent_back`: what is done with
  them
- `views`: what tools ask; `ownership`: what is concluded about who reads which queue
"""
