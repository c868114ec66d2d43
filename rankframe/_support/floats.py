"""NumPy, which is imported when it is first used, and the types of its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class NumPy:
        """The module, imported at the first reading; what was read once is an attribute."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            vars(self)[name] = value
            return value

    np = NumPy()
    NDArray = Any

Floats: TypeAlias = "NDArray[np.float64]"
Integers: TypeAlias = "NDArray[np.int64]"
Booleans: TypeAlias = "NDArray[np.bool_]"
Unsigned: TypeAlias = "NDArray[np.uint64]"
