"""Old names of Quarterdeck's teams; see `quarterdeck_compat`."""

from quarterdeck_compat import install

install()
