"""Methods of fusion as functions of rankings, and normalisations of a ranking's scores."""

from .ranks import *
from .scores import *
from .search_engines import *
from .trained import *
