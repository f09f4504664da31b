"""The plain-PyTorch loop that `muster bench train` measures itself against: the same networks, sizes and work, written
as a careful user of PyTorch would. Muster starts it as a child and talks to it over stdin and stdout, one JSON object
a line:

  {"do": "losses", "workload": w, "weights": npz, "batch": npz, "steps": n}  ->  {"losses": [...]}
  {"do": "prepare", "workload": w}                                           ->  {"clients": k}
  {"do": "window", "mode": "std" | "foreach", "seconds": s}                  ->  {"samples_per_s": r}

A request that fails is answered {"error": text}. The end of stdin ends the program.
"""
import json
import sys
import time


def say(**answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


try:
    import numpy
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    say(error=str(error))
    sys.exit(0)


class Softmax(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.dense1 = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.dense1(x)


class Mlp(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.dense1 = nn.Linear(inputs, hidden)
        self.dense2 = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.dense2(F.relu(self.dense1(x)))


class Cnn(nn.Module):
    """Two convolutions with ReLU and pooling, then dense layers."""

    def __init__(self, size, inputs, channels, padding, hidden, classes):
        super().__init__()
        first, second = channels
        self.conv1 = nn.Conv2d(inputs, first, 5, padding=padding)
        self.conv2 = nn.Conv2d(first, second, 5, padding=padding)
        for _ in range(2):
            size = (size - 4 + 2 * padding) // 2
        self.flat = (second, size, size)
        widths = [second * size * size, *hidden, classes]
        self.dense = []
        for i in range(1, len(widths)):
            layer = nn.Linear(widths[i - 1], widths[i])
            setattr(self, f"dense{i}", layer)
            self.dense.append(layer)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.flatten(1)
        for layer in self.dense[:-1]:
            x = F.relu(layer(x))
        return self.dense[-1](x)


class Unit(nn.Module):
    """Convolution without bias and group normalisation."""

    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.GroupNorm(2, outputs)

    def forward(self, x):
        return self.norm(self.conv(x))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = Unit(inputs, outputs, 3, stride)
        self.conv2 = Unit(outputs, outputs, 3, 1)
        self.shortcut = Unit(inputs, outputs, 1, stride) if stride != 1 or inputs != outputs else nn.Identity()

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x))) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, inputs, widths, classes):
        super().__init__()
        self.conv1 = Unit(inputs, widths[0], 3, 1)
        self.stages = []
        before = widths[0]
        for i, width in enumerate(widths):
            stage = nn.Module()
            stage.block1 = Block(before, width, 1 if i == 0 else 2)
            setattr(self, f"stage{i + 1}", stage)
            self.stages.append(stage.block1)
            before = width
        self.dense1 = nn.Linear(before, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        for block in self.stages:
            x = block(x)
        return self.dense1(x.mean((2, 3)))


class Lstm(nn.Module):
    """One logit for two classes. PyTorch's second bias says nothing new: it stays zero."""

    def __init__(self, inputs, units, layers):
        super().__init__()
        self.lstm = nn.LSTM(inputs, units, layers, batch_first=True)
        for name, parameter in self.lstm.named_parameters():
            if name.startswith("bias_hh"):
                parameter.requires_grad_(False).zero_()
        self.dense1 = nn.Linear(units, 30)
        self.dense2 = nn.Linear(30, 1)

    def forward(self, x):
        return self.dense2(self.dense1(self.lstm(x)[0][:, -1]))


def cross_entropy(logits, labels):
    if logits.shape[1] == 1:
        return F.binary_cross_entropy_with_logits(logits[:, 0], labels.to(logits.dtype))
    return F.cross_entropy(logits, labels)


# network, shape of a sample, classes, batch, samples per client, epochs, learning rate, whether samples are bytes
WORKLOADS = {
    "a": (lambda: Softmax(784, 10), (784,), 10, 10, 60, 20, 0.03, False),
    "a1": (lambda: Softmax(784, 10), (784,), 10, 10, 600, 1, 0.03, True),
    "a1-32": (lambda: Softmax(784, 10), (784,), 10, 32, 600, 1, 0.03, True),
    "b": (lambda: Mlp(784, 128, 10), (784,), 10, 10, 60, 20, 0.03, False),
    "b1": (lambda: Mlp(784, 128, 10), (784,), 10, 10, 600, 1, 0.03, True),
    "b1-32": (lambda: Mlp(784, 128, 10), (784,), 10, 32, 600, 1, 0.03, True),
    "c": (lambda: Mlp(784, 512, 62), (784,), 62, 10, 60, 20, 0.03, False),
    "d": (lambda: Cnn(32, 3, (64, 64), 0, (384, 192), 10), (3, 32, 32), 10, 64, 100, 1, 0.01, False),
    "e1": (lambda: Cnn(32, 3, (6, 16), 0, (), 10), (3, 32, 32), 10, 128, 512, 1, 0.05, False),
    "e2": (lambda: Cnn(28, 1, (20, 50), 0, (), 10), (1, 28, 28), 10, 128, 512, 1, 0.05, False),
    "e2-5": (lambda: Cnn(28, 1, (20, 50), 0, (), 10), (1, 28, 28), 10, 5, 300, 1, 0.05, True),
    "e2-10": (lambda: Cnn(28, 1, (20, 50), 0, (), 10), (1, 28, 28), 10, 10, 300, 1, 0.05, True),
    "e3-5": (lambda: Cnn(28, 1, (16, 32), 0, (), 10), (1, 28, 28), 10, 5, 300, 1, 0.05, True),
    "e3-10": (lambda: Cnn(28, 1, (16, 32), 0, (), 10), (1, 28, 28), 10, 10, 300, 1, 0.05, True),
    "f": (lambda: Cnn(28, 1, (32, 64), 2, (2048,), 62), (1, 28, 28), 62, 5, 226, 1, 0.01, False),
    "g": (lambda: ResNet(3, (16, 32, 64), 10), (3, 32, 32), 10, 32, 320, 1, 0.05, False),
    "h": (lambda: Lstm(300, 100, 2), (25, 300), 2, 10, 60, 1, 0.3, False),
}


def load_weights(network, tensors):
    """Muster keeps dense [in][out], convolution [height][width][in][out], features height-width-channel."""

    def put(parameter, value):
        if tuple(parameter.shape) != tuple(value.shape):
            raise ValueError(f"a tensor of {tuple(value.shape)} for {tuple(parameter.shape)}")
        parameter.copy_(value)
        filled.add(id(parameter))

    def convolution(name):
        return tensors[name].permute(3, 2, 0, 1)

    filled = set()
    with torch.no_grad():
        for name, module in network.named_modules():
            if isinstance(module, Unit):
                put(module.conv.weight, convolution(name + ".weight"))
                put(module.norm.weight, tensors[name + ".scale"])
                put(module.norm.bias, tensors[name + ".shift"])
            elif isinstance(module, nn.Conv2d) and module.bias is not None:
                put(module.weight, convolution(name + ".weight"))
                put(module.bias, tensors[name + ".bias"])
            elif isinstance(module, nn.Linear):
                weight = tensors[name + ".weight"]
                if name == "dense1" and hasattr(network, "flat"):
                    channels, height, width = network.flat
                    weight = weight.reshape(height, width, channels, -1).permute(2, 0, 1, 3).flatten(0, 2)
                put(module.weight, weight.t())
                put(module.bias, tensors[name + ".bias"])
            elif isinstance(module, nn.LSTM):
                for i in range(module.num_layers):
                    put(getattr(module, f"weight_ih_l{i}"), tensors[f"lstm{i + 1}.input_weight"].t())
                    put(getattr(module, f"weight_hh_l{i}"), tensors[f"lstm{i + 1}.recurrent_weight"].t())
                    put(getattr(module, f"bias_ih_l{i}"), tensors[f"lstm{i + 1}.bias"])
    for name, parameter in network.named_parameters():
        if parameter.requires_grad and id(parameter) not in filled:
            raise ValueError(f"no weights for {name}")


def read_npz(path):
    with numpy.load(path) as arrays:
        return {name: torch.from_numpy(arrays[name].copy()) for name in arrays.files}


def losses(workload, weights, batch, steps):
    """The loss before each of some steps on one batch, from given weights."""
    make, shape, _, _, _, _, rate, _ = WORKLOADS[workload]
    network = make()
    load_weights(network, read_npz(weights))
    arrays = read_npz(batch)
    x = arrays["x"]
    x = x.permute(0, 3, 1, 2).contiguous() if len(shape) == 3 else x.reshape(-1, *shape)
    y = arrays["y"].long()
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=rate)
    values = []
    for _ in range(steps):
        loss = cross_entropy(network(x), y)
        values.append(float(loss))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return values


class Federation:
    """Clients that load the model, train some epochs of shuffled batches, and are averaged."""

    def __init__(self, workload):
        make, shape, classes, self.batch, self.samples, self.epochs, self.rate, self.bytes = WORKLOADS[workload]
        size = torch.Size(shape).numel()
        self.clients = max(4, min(50, 50_000_000 // self.samples // size))
        prototypes = torch.randn(classes, *shape)
        self.y = [torch.randint(0, classes, (self.samples,)) for _ in range(self.clients)]
        self.x = [0.3 * torch.randn(self.samples, *shape) + 0.3 * prototypes[y] for y in self.y]
        if self.bytes:
            self.x = [x.clamp_(-1, 1).add_(1).mul_(127.5).to(torch.uint8) for x in self.x]
        self.network = make()
        self.weights = [p for p in self.network.parameters() if p.requires_grad]
        self.model = [p.detach().clone() for p in self.weights]
        self.sum = [torch.zeros_like(p) for p in self.weights]
        self.optimizer = torch.optim.SGD(self.weights, lr=self.rate)
        self.next = 0

    def step_std(self, x, y):
        loss = cross_entropy(self.network(x), y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def step_foreach(self, x, y):
        gradient = torch.autograd.grad(cross_entropy(self.network(x), y), self.weights)
        with torch.no_grad():
            torch._foreach_add_(self.weights, gradient, alpha=-self.rate)

    def train_client(self, step):
        with torch.no_grad():
            for weight, value in zip(self.weights, self.model):
                weight.copy_(value)
        for _ in range(self.epochs):
            order = torch.randperm(self.samples)
            x = self.x[self.next][order]
            y = self.y[self.next][order]
            if self.bytes:
                x = x.float().mul_(2 / 255).sub_(1)
            for xs, ys in zip(x.split(self.batch), y.split(self.batch)):
                step(xs, ys)
        with torch.no_grad():
            torch._foreach_add_(self.sum, self.weights, alpha=1.0 / self.clients)
            self.next = (self.next + 1) % self.clients
            if self.next == 0:
                for value, total in zip(self.model, self.sum):
                    value.copy_(total)
                    total.zero_()

    def window(self, mode, seconds):
        step = {"std": self.step_std, "foreach": self.step_foreach}[mode]
        trained = 0
        start = time.process_time()
        while True:
            self.train_client(step)
            trained += self.samples * self.epochs
            used = time.process_time() - start
            if used >= seconds:
                return trained / used


def blas():
    """Which library multiplies the matrices: with the reference one, dense layers are several times slower."""
    if "Math Kernel Library" in torch.__config__.show():
        return "mkl"
    torch.ones(2, 2) @ torch.ones(2, 2)
    try:
        with open("/proc/self/maps") as maps:
            loaded = {line.split()[-1].lower() for line in maps}
    except OSError:
        return "unknown"
    # Debian's PyTorch asks for libblas.so.3, whoever provides it; others link their library by its own name.
    generic = [path for path in loaded if "/libblas.so" in path]
    for name in ("openblas", "mkl", "blis", "armpl", "atlas"):
        if any(name in path for path in generic or loaded):
            return name
    return "reference" if generic else "unknown"


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    say(torch=torch.__version__, blas=blas())
    federation = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            action = request.pop("do")
            if action == "losses":
                say(losses=losses(**request))
            elif action == "prepare":
                federation = None
                federation = Federation(**request)
                federation.train_client(federation.step_std)
                federation.train_client(federation.step_foreach)
                say(clients=federation.clients)
            elif action == "window":
                say(samples_per_s=federation.window(**request))
            else:
                say(error=f"unknown request {action}")
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}")


main()
