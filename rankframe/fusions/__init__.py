"""The methods of fusion as functions of several rankings, and the normalisations of one ranking's
scores.
"""

from .ranks import *
from .scores import *
from .search_engines import *
from .trained import *
