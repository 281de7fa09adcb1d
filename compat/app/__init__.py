"""Old names of Quarterdeck's platform door; see `quarterdeck_compat`."""

from quarterdeck_compat import install

install()
