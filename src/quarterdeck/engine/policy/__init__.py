"""Whether something may be done: classes of risk, the verdict, what a permission is bound to. Pure."""
