"""Tools of other programs: servers that speak MCP, started by us or reached over HTTP, in both eras of the protocol."""
