"""Values that nobody should send, as hypothesis makes them; for tests and for `tests.bench`."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=12,
)


def tried(count: int) -> settings:
    """Settings for the same `count` values at each run, none of which is noted on the disk."""
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
