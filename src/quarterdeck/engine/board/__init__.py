"""The rules of the board: who hears what, who is woken, who may do what, and in what order a task goes its way."""
