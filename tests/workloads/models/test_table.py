"""Models from CSV, and what is said of bad ones."""

import pytest

from workloads.errors import ScenarioError
from workloads.models import MOST_LAYERS, Layer, parse_model


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
    HEAD + "a,1,3600000.000001,3\n": "m.csv:2: forward_ms: out of range; found '3600000.000001'; "
    "allowed: at most 3600000 milliseconds (60min)",
    HEAD + "a,1,3600000,999999999.999999\n": "m.csv:2: backward_ms: out of range; found '999999999.999999'",
    HEAD + "a" * 65 + ",1,2,3\n": f"m.csv:2: layer: not a name of a layer; found '{'a' * 65}'; "
    "allowed: printable text of at most 64 bytes",
    HEAD + "a\a,1,2,3\n": "m.csv:2: layer: not a name of a layer; found 'a\\x07'",
    HEAD + "a,1,2,3\na,1,2,3\n": "m.csv:3: layer: two layers of one name; found 'a' again, first in line 2",
    HEAD + 'a,"1,2,3\n': "m.csv:2: not CSV: unexpected end of data",
    "layer,bytes\na,6\n": "m.csv:2: bytes: not a whole number of elements; found '6'; allowed: a multiple of 4",
}


@pytest.mark.parametrize(("text", "message"), BAD.items())
def test_the_line_of_what_is_wrong(text, message):
    with pytest.raises(ScenarioError) as caught:
        parse_model(text, "m.csv")
    assert str(caught.value).startswith(message)


def test_as_many_layers_as_a_scenario_file_can_hold():
    rows = [f"layer{number},1,2,3\n" for number in range(MOST_LAYERS + 1)]
    assert len(parse_model(HEAD + "".join(rows[:-1]), "m.csv").layers) == MOST_LAYERS
    with pytest.raises(ScenarioError) as caught:
        parse_model(HEAD + "".join(rows), "m.csv")
    assert str(caught.value) == f"m.csv:{MOST_LAYERS + 2}: too many layers; allowed: at most {MOST_LAYERS} rows"
