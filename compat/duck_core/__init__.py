"""Old names of Quarterdeck's runtime door; see `quarterdeck_compat`."""

from quarterdeck_compat import install

install()
