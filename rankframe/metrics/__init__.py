"""The formulas, one module per family; importing them fills METRICS in the documentation's
order.
"""

from .agreement import *
from .binary import *
from .cascade import *
from .catalog import *
from .costs import *
from .cwl import *
from .diversity import *
from .gain import *
from .group_exposure import *
from .item_groups import *
from .judgments import *
from .list_diversity import *
from .novelty import *
from .order import *
from .popularity import *
from .prediction import *
from .preference import *
from .retrieval_models import *
from .serendipity import *
from .trec import *
