"""Words every room uses and that know no product: ids, parts of a conversation, scope, errors."""
