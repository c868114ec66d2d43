"""NumPy, which is imported when it is first used, and the types of its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:

    class NumPy:
        """The module, without the time that its import takes."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            return getattr(numpy, name)

    np = NumPy()

Floats: TypeAlias = "npt.NDArray[np.float64]"
Integers: TypeAlias = "npt.NDArray[np.int64]"
Booleans: TypeAlias = "npt.NDArray[np.bool_]"
Unsigned: TypeAlias = "npt.NDArray[np.uint64]"
