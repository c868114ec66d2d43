"""`DataFrame.rank` stays pandas' own method, and `.rank` is there whoever imports pandas, in whatever order."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pandas as pd
import pytest

from rankframe import hook
from rankframe._lift.pandas import RankMethod
from tests.support.each import each
from tests.support.interpreters import run_after
from tests.support.uses_of_pandas_rank import USES, outcome

ROOT = Path(__file__).parents[2]


def python(*args: str, cwd: Path | None = None) -> str:
    """What a new interpreter prints; it sees the same packages, and warnings are errors."""
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}  # which are those of this run
    env |= {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, *args], capture_output=True, text=True, env=env, cwd=cwd, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(code: str, cwd: Path | None = None) -> str:
    return python("-W", "error", "-c", dedent(code), cwd=cwd).strip()


POLARS = "import polars, numpy, dateutil.parser, dateutil.tz, zoneinfo"
"""What takes long and is neither pandas nor rankframe, and what pandas imports."""

PANDAS = f"{POLARS}, pandas"


def uses(*imports: str) -> dict[str, str]:
    code = f"import sys, runpy; sys.argv[1:] = {imports}; runpy.run_module('tests.support.uses_of_pandas_rank', run_name='__main__')"
    found = json.loads(run_after(POLARS, code))
    assert found["hooked"] == ("rankframe" in imports)
    outcomes: dict[str, str] = found["uses"]
    return outcomes


def test_every_use_of_pandas_rank_comes_out_as_without_rankframe() -> None:
    without = uses()
    assert uses("rankframe", "pandas") == without
    with pd.option_context("display.width", 1000):  # and here, among other tests
        assert {use: outcome(code, pd) for use, code in USES.items()} == without
    failed = {use for use, found in without.items() if re.match(r"\w+Error: ", found)}
    assert failed == {"wrong method", "wrong keyword", "too many arguments", "attribute deleted"}


@pytest.mark.nightly
def test_every_use_of_pandas_rank_comes_out_so_where_pandas_is_imported_first() -> None:
    assert uses("pandas", "rankframe") == uses()


def test_annotations_are_the_methods_whoever_asked_for_those_of_the_class() -> None:
    for kind in RankMethod.__mro__[:-1]:
        getattr(kind, "__annotations__", None)  # which makes an empty one, where there is none
    frame = pd.DataFrame({"a": [1]})
    assert frame.rank.__annotations__ == pd.DataFrame.rank.__annotations__ != {}


def run_of_pandas_own_tests(tmp_path: Path, *more: str) -> tuple[dict[str, int], str]:
    """How many of pandas' own tests of rank passed, were skipped ..., and what was printed."""
    (tmp_path / "hooked.py").write_text(
        "import pandas, rankframe\n"
        "def pytest_sessionfinish(): print('hooked' * hasattr(pandas.DataFrame().rank, 'ndcg'))\n"
    )
    own = str(Path(pd.__file__).with_name("pyproject.toml"))  # with pandas' own rules for warnings
    tests = "pandas.tests.frame.methods.test_rank"
    command = ("-m", "pytest", "-c", own, "--rootdir", str(tmp_path), "-p", "no:cacheprovider", "-q", "--pyargs", tests)
    printed = python(*command, *more, cwd=tmp_path)
    found = re.findall(r"(\d+) (passed|failed|skipped|xfailed|error)", printed)
    return {kind: int(n) for n, kind in found}, printed


@pytest.mark.nightly
def test_as_many_of_pandas_own_tests_of_rank_pass_as_without_rankframe(tmp_path: Path) -> None:
    without, printed = run_of_pandas_own_tests(tmp_path)
    assert "hooked" not in printed
    outcomes, printed = run_of_pandas_own_tests(tmp_path, "-p", "hooked")
    assert "hooked" in printed
    assert outcomes == without
    assert outcomes["passed"] > 100
    assert outcomes.keys() <= {"passed", "skipped", "xfailed"}


@each("first", ["import rankframe", "import rankframe, pandas", "import pandas, rankframe"])
def test_a_polars_user_imports_numpy_for_a_metric_and_no_pandas_or_pyarrow(first: str) -> None:
    code = f"""
        import sys
        {first}
        import polars as pl
        df = pl.DataFrame({{"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}})
        print("then", *[name for name in ("pandas", "numpy", "pyarrow", "rankframe._lift.pandas") if name in sys.modules])
        assert df.rank.evaluate("rr").rows() == df.lazy().rank.evaluate("rr").collect().rows() == [(1, 0.5)]
        print("then", *[name for name in ("pandas", "numpy", "pyarrow", "rankframe._lift.pandas") if name in sys.modules])
    """
    imported, then = (run_after(POLARS, code) if "pandas" in first else run(code)).split("\n")
    assert ("pandas" in imported.split()) == ("pandas" in first)
    assert "rankframe._lift.pandas" not in imported + then
    assert "pandas" in first or (imported, then) == ("then", "then numpy")


@each("first", ["import rankframe as rf, pandas as pd", "import pandas as pd, rankframe as rf"])
def test_an_environment_variable_leaves_pandas_as_it_is(first: str) -> None:
    code = f"""
        import os, sys
        os.environ["RANKFRAME_PANDAS"] = "0"
        finders = [*sys.meta_path]
        {first}
        assert sys.meta_path == finders
        assert not hasattr(pd.DataFrame().rank, "ndcg")
        df = pd.DataFrame({{"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}})
        assert rf.rank(df).evaluate("rr")["rr"].tolist() == [0.5]
        rf.hook.install()
        assert df.rank.evaluate("rr")["rr"].tolist() == [0.5]
    """
    run_after(PANDAS, code)


def test_another_value_of_that_variable_is_refused_at_the_import() -> None:
    code = """
        import os
        os.environ["RANKFRAME_PANDAS"] = "off"
        try:
            import rankframe
        except ValueError as error:
            print(error)
    """
    assert run_after(POLARS, code) == "the environment variable RANKFRAME_PANDAS='off' is neither '0' nor '1'"


def test_the_import_time_report_works_and_shows_pandas_once() -> None:
    code = "import rankframe, pandas; assert hasattr(pandas.DataFrame().rank, 'ndcg')"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert len(re.findall(r"\| +pandas$", done.stderr, re.MULTILINE)) == 1


def test_rankframe_works_where_there_is_no_pandas() -> None:
    code = """
        import sys
        sys.modules.update(pandas=None, pyarrow=None)
        import polars as pl, rankframe as rf
        df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
        assert df.rank.evaluate("rr").rows() == [(1, 0.5)]
        rf.hook.uninstall()
        rf.hook.install()
        try:
            rf.rank([1])
        except rf.InvalidData as error:
            print(error)
        try:
            import pandas
        except ModuleNotFoundError:
            print("no pandas")
    """
    assert run_after(POLARS, code) == (
        "list is no frame; give a DataFrame of Polars or pandas, a LazyFrame, or a table with the Arrow PyCapsule interface; "
        "rf.from_dicts, rf.from_arrays and rf.from_lists make frames\nno pandas"
    )


def test_pandas_frames_need_no_pyarrow() -> None:
    code = """
        import sys
        import polars
        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "pyarrow":
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, Absent())
        import pandas as pd, rankframe as rf
        df = pd.DataFrame({"query_id": ["a", "a", None], "doc_id": [1, 2, 1], "score": [2, 1, 1], "label": [0, 1, 0]})
        for dtype in ("object", "string", "category"):
            found = df.astype({"query_id": dtype, "score": "Int64"}).rank.evaluate("rr")
            assert found["rr"].tolist() == [0.5, 0.0], found
            assert found.index[0] == "a" and pd.isna(found.index[1]), found
        later = df.assign(query_id=pd.Timestamp("2020", tz="Europe/Paris"), doc_id=[1, 2, 3]).rank.evaluate("rr")
        assert later.index[0] == pd.Timestamp("2020", tz="Europe/Paris")
        assert "pyarrow" not in sys.modules
    """
    run_after(POLARS, code)


def test_installing_again_reloading_and_importing_anew_never_wraps_twice() -> None:
    code = """
        import importlib, sys
        import pandas as pd
        original = pd.DataFrame.rank
        import rankframe as rf
        def installed():
            finders = [finder for finder in sys.meta_path if getattr(finder, "rankframe", False)]
            hook = vars(pd.DataFrame)["rank"]
            return len(finders) == 1 and hook.method is original and pd.DataFrame.rank is original
        rf.hook.install()
        assert installed()
        importlib.reload(rf.hook)
        importlib.reload(rf)
        assert installed()
        for name in [name for name in sys.modules if name.split(".")[0] == "rankframe"]:
            del sys.modules[name]
        import rankframe as rf
        assert installed()
        assert isinstance(rf.rank(pd.DataFrame()), sys.modules["rankframe._lift.pandas"].PandasRanker)
        importlib.reload(pd)
        assert installed()
        rf.hook.uninstall()
        assert "rank" not in vars(pd.DataFrame) and pd.DataFrame.rank is original
        assert not any(getattr(finder, "rankframe", False) for finder in sys.meta_path)
        rf.hook.uninstall()
        rf.hook.install()
        assert installed()
    """
    run_after(PANDAS, code)


def test_uninstalling_restores_a_method_that_stood_on_the_class_itself() -> None:
    code = """
        import pandas as pd
        def own(self, axis=0):
            return "own"
        pd.DataFrame.rank = own
        import rankframe as rf
        assert pd.DataFrame.rank is own and pd.DataFrame().rank() == "own"
        assert hasattr(pd.DataFrame().rank, "ndcg")
        rf.hook.uninstall()
        assert vars(pd.DataFrame)["rank"] is own
    """
    run_after(PANDAS, code)


def test_uninstalling_leaves_what_others_have_put_there_since() -> None:
    code = """
        import pandas as pd, rankframe as rf
        other = lambda self: "other"
        pd.DataFrame.rank = other
        rf.hook.uninstall()
        assert vars(pd.DataFrame)["rank"] is other
    """
    run_after(PANDAS, code)


def test_what_is_no_method_is_left_alone_with_a_warning() -> None:
    code = """
        import warnings
        import pandas as pd
        @pd.api.extensions.register_dataframe_accessor("ranks")
        class Accessor:
            def __init__(self, frame): pass
        pd.DataFrame.rank = vars(pd.DataFrame)["ranks"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import rankframe as rf
        assert pd.DataFrame.rank is Accessor and isinstance(pd.DataFrame().rank, Accessor)
        print(caught[0].message)
    """
    assert run_after(PANDAS, code) == "pd.DataFrame.rank is not pandas' method; use rankframe.rank(df), not df.rank"


def test_threads_that_import_both_at_once_find_the_hook() -> None:
    code = """
        import importlib, sys, threading
        sys.setswitchinterval(1e-5)
        start = threading.Barrier(4)
        def load(name):
            start.wait()
            importlib.import_module(name)
        threads = [threading.Thread(target=load, args=[name]) for name in ("pandas", "rankframe") * 2]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        import pandas
        assert hasattr(pandas.DataFrame().rank, "ndcg")
        assert pandas.DataFrame.rank.__qualname__ == "NDFrame.rank"
    """
    run_after(POLARS, code)


def test_other_import_hooks_and_ours_get_along() -> None:
    code = """
        import importlib.util, sys, warnings
        warnings.simplefilter("ignore", ImportWarning)
        class Old:  # as finders were before Python 3.4
            def find_module(self, name, path=None):
                return None
        class Other:
            searching = False
            def find_spec(self, name, path=None, target=None):
                if name != "pandas" or self.searching:
                    return None
                self.searching = True
                spec = importlib.util.find_spec(name)
                self.searching = False
                execute = spec.loader.exec_module
                spec.loader.exec_module = lambda module: (execute(module), vars(module).update(other=True))
                return spec
        sys.meta_path[:0] = [Other(), Old()]
        import rankframe
        sys.meta_path[:0] = [Other()]
        assert importlib.util.find_spec("pandas").name == "pandas"
        import pandas
        assert pandas.other and hasattr(pandas.DataFrame().rank, "ndcg")
        assert type(pandas.__loader__).__name__ == "SourceFileLoader"
        assert pandas.__spec__.loader is pandas.__loader__
    """
    run_after(POLARS, code)


def test_a_lazily_imported_pandas_is_hooked_when_it_loads() -> None:
    code = """
        import importlib.util, sys
        import rankframe
        spec = importlib.util.find_spec("pandas")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        pandas = importlib.util.module_from_spec(spec)
        sys.modules["pandas"] = pandas
        spec.loader.exec_module(pandas)
        assert "pandas.core" not in sys.modules
        assert hasattr(pandas.DataFrame().rank, "ndcg")
    """
    run_after(POLARS, code)


def test_an_import_of_pandas_that_fails_fails_as_it_does_and_may_be_tried_again(tmp_path: Path) -> None:
    package = tmp_path / "pandas"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('broken')")
    code = """
        import importlib, sys
        sys.path.insert(0, ".")
        import rankframe
        try:
            import pandas
        except ImportError as error:
            print(error)
        open("pandas/__init__.py", "w").write("class DataFrame:\\n    def rank(self): return 'own'")
        importlib.invalidate_caches()
        sys.dont_write_bytecode = True
        import pandas
        print(pandas.DataFrame().rank is not None, vars(pandas.DataFrame)["rank"].rankframe)
    """
    assert run(code.replace("pandas.DataFrame().rank is not None", "True"), cwd=tmp_path) == "broken\nTrue True"


def test_a_stand_in_for_pandas_is_left_alone() -> None:
    code = """
        import sys, types
        sys.modules["pandas"] = types.ModuleType("pandas")
        import rankframe as rf
        sys.modules["pandas"].DataFrame = object()
        rf.hook.install()
        rf.hook.uninstall()
    """
    run_after(POLARS, code)


def test_the_rest_of_the_import_system_is_left_alone() -> None:
    code = """
        import sys
        before = list(sys.meta_path)
        import rankframe as rf
        assert sys.meta_path[1:] == before
        import importlib.util
        assert importlib.util.find_spec("json").loader.__class__.__name__ == "SourceFileLoader"
        assert importlib.util.find_spec("no_such_module") is None
        rf.hook.uninstall()
        assert sys.meta_path == before
        import pandas
        assert not hasattr(pandas.DataFrame().rank, "ndcg")
        rf.hook.install()
        assert hasattr(pandas.DataFrame().rank, "ndcg")
    """
    run_after(POLARS, code)


class Loader:
    """Loads a module whose `DataFrame` is the class given."""

    def __init__(self, frame: object) -> None:
        self.frame = frame

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["DataFrame"] = self.frame


def test_a_loader_of_pandas_is_itself_again_once_it_has_loaded() -> None:
    def rank(self: object) -> str:
        return "own"

    frame = type("DataFrame", (), {"rank": rank})
    loader, module = Loader(frame), ModuleType("pandas")
    hook._install_after(loader)
    loader.exec_module(module)
    assert vars(loader) == {"frame": frame}
    assert frame.rank is rank  # type: ignore[attr-defined]
    assert vars(frame)["rank"].method is rank


def test_a_rank_that_is_no_method_is_kept() -> None:
    frame = type("DataFrame", (), {"rank": property(lambda self: 1)})
    loader = Loader(frame)
    hook._install_after(loader)
    with pytest.warns(UserWarning, match=re.escape("use rankframe.rank(df), not df.rank")):
        loader.exec_module(ModuleType("pandas"))
    assert frame().rank == 1


def test_looking_for_pandas_changes_nothing() -> None:
    before = vars(pd.DataFrame)["rank"]
    spec = importlib.util.find_spec("pandas")
    assert spec is pd.__spec__
    found = hook.Finder().find_spec("pandas")
    assert found is not None
    assert found.origin == pd.__file__
    assert vars(pd.DataFrame)["rank"] is before


def test_the_hook_can_be_taken_off_and_put_on() -> None:
    original = pd.DataFrame.rank
    try:
        hook.uninstall()
        assert "rank" not in vars(pd.DataFrame)
        assert not hasattr(pd.DataFrame().rank, "ndcg")
    finally:
        hook.install()
    assert pd.DataFrame.rank is original
    assert hasattr(pd.DataFrame().rank, "ndcg")
