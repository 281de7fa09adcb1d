"""The tools of one machine: files, the shell, the web, a question to a person. One toolbox holds them."""
