"""Models from CSV, and what is said of bad ones."""

import pytest

from workloads.errors import ScenarioError
from workloads.models import Layer, parse_model


def test_a_layer_per_line():
    model = parse_model("layer,elements,forward_ms,backward_ms\nconv, 23296 ,1.5,3\n\nfc,4097,0,0.25\n", "m.csv", "m")
    assert model.name == "m"
    assert model.layers == (Layer("conv", (23296,), 0, 1_500_000, 3_000_000), Layer("fc", (4097,), 0, 0, 250_000))


def test_bytes_in_any_column_order_without_times():
    assert parse_model("bytes,layer\n400,a\n", "m.csv").layers == (Layer("a", (100,)),)


HEAD = "layer,elements,forward_ms,backward_ms\n"
BAD = {
    "": "m.csv:1: not the columns of a job; found nothing",
    "layer,size\na,1\n": "m.csv:1: not the columns of a job; found layer,size",
    "layer,elements,bytes\na,1,4\n": "m.csv:1: not the columns of a job; found layer,elements,bytes",
    "layer,elements,forward_ms\na,1,4\n": "m.csv:1: not the columns of a job; found layer,elements,forward_ms",
    HEAD: "m.csv:1: no layers; allowed: a row for each layer under the columns",
    HEAD + "a,1,2\n": "m.csv:2: a row of another width; found 3 values",
    HEAD
    + "a,1,2,3\n\nb,x,2,3\n": "m.csv:4: elements: not a size; found 'x'; allowed: a whole number from 1 to 4294967296",
    HEAD + "a,0,2,3\n": "m.csv:2: elements: not a size; found '0'",
    HEAD + "a,-1,2,3\n": "m.csv:2: elements: not a size; found '-1'",
    HEAD + ",1,2,3\n": "m.csv:2: layer: a layer without a name",
    HEAD + "a,1,-2,3\n": "m.csv:2: forward_ms: not a time; found '-2'; allowed: milliseconds, 0 or more, as 1.5",
    HEAD + "a,1,2,nan\n": "m.csv:2: backward_ms: not a time; found 'nan'",
    HEAD + "a,1,2,3\na,1,2,3\n": "m.csv:3: layer: two layers of one name; found 'a' again, first in line 2",
    HEAD + 'a,"1,2,3\n': "m.csv:2: not CSV: unexpected end of data",
    "layer,bytes\na,6\n": "m.csv:2: bytes: not a whole number of elements; found '6'; allowed: a multiple of 4",
}


@pytest.mark.parametrize(("text", "message"), BAD.items())
def test_the_line_of_what_is_wrong(text, message):
    with pytest.raises(ScenarioError) as caught:
        parse_model(text, "m.csv")
    assert str(caught.value).startswith(message)
