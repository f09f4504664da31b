"""A network in NumPy: dense layers with ReLU between them. Its flat vector is, layer by layer, the weights [in][out],
then the biases. Muster's own `softmax` and `mlp` have this layout, too, so clients in C++ may train beside this one."""
import math

import numpy as np

HIDDEN = [16]  # of the model that clients bring themselves, where the recipe says model.name = "external"


class Network:
    def __init__(self, sizes):
        self.shapes = [shape for pair in zip(sizes, sizes[1:]) for shape in (pair, pair[1:])]

    def tensors(self, seed=1):
        """The first model, as names and values in the order of the flat vector."""
        draws = np.random.default_rng(seed)
        for i, shape in enumerate(self.shapes):
            bound = 0 if i % 2 else 1 / math.sqrt(shape[0])
            yield f"dense{i // 2 + 1}.{'bias' if i % 2 else 'weight'}", draws.uniform(-bound, bound, shape)

    def outputs(self, flat, x):
        return self._run(flat, x)[0][-1]

    def gradient(self, flat, x, y):
        """Of the mean cross-entropy."""
        values, weights = self._run(flat, x)
        delta = np.exp(values[-1] - np.logaddexp.reduce(values[-1], axis=1, keepdims=True))
        delta[np.arange(len(y)), y] -= 1
        gradient = []
        for value, weight in zip(values[-2::-1], weights[::-1]):
            gradient = [(value.T @ delta).ravel(), delta.sum(axis=0), *gradient]
            delta = (delta @ weight.T) * (value > 0)
        return np.concatenate(gradient) / len(y)

    def _run(self, flat, x):  # the values between the layers, and the layers' weights
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        if len(flat) != ends[-1]:
            raise ValueError(f"a model of {len(flat)} values, want {ends[-1]}")
        parts = [flat[end - math.prod(shape) : end].reshape(shape) for shape, end in zip(self.shapes, ends)]
        values = [x]
        for weight, bias in zip(parts[::2], parts[1::2]):
            x = values[-1] @ weight + bias
            values.append(x if bias is parts[-1] else x.clip(min=0))
        return values, parts[::2]


def make_network(model, features, classes):
    """`model`: section [model] of the recipe."""
    hidden = {"softmax": [], "mlp": model.get("hidden"), "external": HIDDEN}.get(model["name"])
    if hidden is None:
        raise ValueError(f"this client does not know model.name = \"{model['name']}\"")
    return Network([features, *hidden, classes])
