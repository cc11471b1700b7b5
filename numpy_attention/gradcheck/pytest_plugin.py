"""A pytest fixture for your own layers: three lines make a test.

    def test_my_layer(gradcheck):
        gradcheck(MyLayer(), x)

pytest finds it through the entry point of the installed package. A failure shows the report instead of a traceback.
"""
import pytest


@pytest.fixture
def gradcheck():
    """check_gradients that fails the test, with the whole report as its message, if anything is wrong."""
    from . import check_gradients

    def check(layer, *inputs, **options):
        __tracebackhide__ = True
        report = check_gradients(layer, *inputs, **options)
        if not report.ok:
            pytest.fail(f"\n{report}", pytrace=False)
        return report

    return check
