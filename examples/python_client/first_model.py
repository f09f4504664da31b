#!/usr/bin/python3
"""Writes the first model of a run with model.name = "external": a safetensors file, for model.path of the recipe."""
import argparse, importlib, json, pathlib, struct

import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", default="network", help="module with make_network(), e.g. torch_network")
parser.add_argument("--features", required=True, type=int)
parser.add_argument("--classes", required=True, type=int)
parser.add_argument("file", type=pathlib.Path)
args = parser.parse_args()

header, values = {}, b""
network = importlib.import_module(args.model).make_network({"name": "external"}, args.features, args.classes)
for name, value in network.tensors():
    part = np.asarray(value, "<f4").tobytes()
    header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [len(values), len(values) + len(part)]}
    values += part
text = json.dumps(header).encode()
args.file.write_bytes(struct.pack("<Q", len(text)) + text + values)
