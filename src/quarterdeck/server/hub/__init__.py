"""The hub: people and agents on WebSockets, each a cursor on the projects they are in."""
