"""JSON Schema of sections."""

from __future__ import annotations

import json

from testbed.reading.jsonschema import json_schema
from tests.testbed.reading.test_sections import Outer


def test_the_json_schema_says_what_a_file_may_hold():
    schema = json_schema(Outer, "things")
    assert schema["required"] == ["count", "until"]
    assert schema["properties"]["count"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert schema["properties"]["psn"]["default"] == "random"
    assert schema["properties"]["from"]["description"] == "when it begins"
    assert schema["$defs"]["Inner"]["properties"]["on"] == {
        "type": "boolean", "description": "whether it is", "default": False,
    }  # fmt: skip
    assert not schema["additionalProperties"]
    json.dumps(schema)
