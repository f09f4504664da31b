"""Writes a small seed corpus per reader to the folder given: valid files that mutations can start from."""
import base64
import pathlib
import struct
import sys
import zlib

root = pathlib.Path(sys.argv[1])


def seed(reader, name, content):
    folder = root / reader
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def idx(kind, dims, payload):
    return bytes([0, 0, kind, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + payload


def npy(descr, shape, payload, version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + payload


def archive(members, deflated):
    body, directory = b"", b""
    for name, content in members:
        packed = content
        if deflated:
            squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
            packed = squeeze.compress(content) + squeeze.flush()
        fields = struct.pack("<HHHIIIHH", 8 if deflated else 0, 0, 0, zlib.crc32(content), len(packed), len(content), len(name), 0)
        directory += struct.pack("<IHHH", 0x02014B50, 20, 20, 0) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name
        body += struct.pack("<IHH", 0x04034B50, 20, 0) + fields + name + packed
    count = len(members)
    return body + directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(body), 0)


def wav(tag, channels, rate, bits, samples):
    block = channels * bits // 8
    fmt = struct.pack("<HHIIHH", tag, channels, rate, rate * block, block, bits)
    chunks = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


def checkpoint(names):
    empty = 0x2D06800538D394C2  # the hash of no bytes
    head = b"MUSTERCK" + struct.pack("<IIQII", 1, 7, 0, len(names), 0)
    for name in names:
        head += struct.pack("<I", len(name)) + name + struct.pack("<QQ", 0, empty)
    return bytes([len(head)]) + head


def safetensors(header, payload):
    return struct.pack("<Q", len(header)) + header + payload


def der(tag, *parts):
    body = b"".join(parts)
    size = bytes([len(body)]) if len(body) < 128 else b"\x82" + struct.pack(">H", len(body))
    return bytes([tag]) + size + body


def certificate(uris):
    """Of no key and no signature: who it is of is read before either."""
    oid = lambda *numbers: der(6, bytes(numbers))
    algorithm = der(0x30, oid(0x2B, 0x65, 0x70))
    name = der(0x30, der(0x31, der(0x30, oid(0x55, 4, 3), der(12, b"x"))))
    names = der(0x30, *(der(0x86, uri) for uri in uris), der(0x82, b"localhost"), der(0x87, b"\x7f\0\0\1"))
    constraints = der(0x30, oid(0x55, 29, 19), der(1, b"\xff"), der(4, der(0x30)))
    extensions = der(0xA3, der(0x30, constraints, der(0x30, oid(0x55, 29, 17), der(4, names))))
    dates = der(0x30, der(23, b"261101000000Z"), der(24, b"20561103000000Z"))
    key = der(0x30, algorithm, der(3, bytes(33)))
    signed = der(0x30, der(0xA0, der(2, b"\2")), der(2, b"\x41\x42"), algorithm, name, dates, name, key, extensions)
    return der(0x30, signed, algorithm, der(3, bytes(65)))


images = idx(8, (2, 2, 3), bytes(range(12)))
seed("idx", "pair", bytes([len(images)]) + images + idx(8, (2,), b"\1\2"))
seed("idx", "words", b"\0" + idx(0x0B, (2,), b"\0\1\0\2"))
seed("idx", "qmnist", b"\0" + idx(0x0C, (1, 8), struct.pack(">8I", 5, 0, 70, 0, 0, 0, 0, 0)))
seed("cifar", "ten", bytes([3]) + bytes(3072))
seed("cifar", "hundred", bytes([3, 40]) + bytes(3072))
seed("csv", "plain", "\0a,label,b,client,split\n1,0,2,x,0\n3.5,1,-4e1,y,test\n")
seed("csv", "quoted", b"\1\xef\xbb\xbf" + '"a",label\r\n"1","big ""dog"""\r\n?,cat\r\n'.encode())
seed("csv", "comma", "\2a;b;label\n1,5;x;0\n2,5;NA;1\n3;y;1\n")
seed("csv", "text", "\4a\tb\tlabel\nred\t1\tu\nblue\t2\tv\n\tnull\tu\n")
seed("csv", "utf16", b"\1" + "a|label\n1|x\n2|\u00e9\n".encode("utf-16"))
seed("csv", "latin1", b"\0" + "\u00e9,label\n1,\u00fc\n2,b\n".encode("latin-1"))
seed("csv", "cr", "\0a,label\r1,x\r2,y\r")
table = '{"source":"csv","storage":"floats","shape":[1,1,3],"scale":[2,1,1],"offset":[0,0,0],"classes":["n","y"],"columns":[{"name":"a","kind":"number","fill":1.5},{"name":"c","kind":"one-hot","categories":["r","b"],"fill":1}],"delimiter":";","decimal":"comma","encoding":"utf-8","label":"l","client":"s"}'
seed("preparation", "table", table + "\0a;c;l;s\n1,5;r;n;x\n;;y;z\n")
seed("preparation", "numbers", '{"shape":[1,1,2],"columns":[{"name":"a"},{"name":"b"}],"classes":["1","2"],"label":"l"}\0b,a,l\n1,2,1.0\n3,4,2\n')
seed("preparation", "images", '{"source":"idx","storage":"bytes","shape":[2,2,1],"scale":[0.5],"offset":[-1],"classes":["0"],"vocabulary":["a"]}')
seed("report", "run", '{"round":1,"accuracy":0.5,"loss":1,"train_loss":2,"participants":2,"dropped":[{"client":1,"reason":"dropped"}],"group_accuracy":[0.5],"bytes_up":1,"cost_total_s":1,"wall_s":1}\n\0'
     '{"round":1,"method":"m","why":"start","count":2,"idle":[],"members":[[0],[1,2]],"labels":[[1,0],[2,3]],"quality":{"cov_mean":0.5},"distances":{"metric":"l2","clients":[0,1],"rows":[[0,1],[1,0]]}}\n'
     '{"round":2,"method":"m","why":"newcomers","placed":[{"client":3,"group":1}]}\n{"round":3,"method":"m","why":"x","members":[[1],[0,2,3]]}\n\0'
     'client,name,samples,group,trained,dropped,accuracy,test_samples\n0,"a ""b""",1,0,1,0,0.5,1\n1,,1,,1,0,,0\n\0'
     '{"stopped":"rounds","signature":"00","accuracy":{"last":0.5},"time":{"wall_s":1},"cost":{"compute_s":1},"metrics":{"classes":[{"name":"a","f1":0.5}],"confusion":[[1]]},"groups":{"count":2,"size_max":2}}\0'
     '{"classes":["a","b"]}\0{"event":"start"}\n{"event":"answer","used":false,"reason":"late"}\n\0name = "n"\nrounds = 3\n')
seed("glove", "plain", "the 1 2 -3\ncat 0.5 1e-3 4\n")
seed("leaf", "numbers", '{"users":["a","b"],"num_samples":[1,1],"user_data":{"a":{"x":[[0.5,1]],"y":[0]},"b":{"x":[[2,3]],"y":[1]}}}')
seed("leaf", "text", '{"users":["a"],"num_samples":[1],"user_data":{"a":{"x":[["1","d","q","u","Hi you!","t"]],"y":[1]}},"hierarchies":[]}')
x = npy("<f4", "2, 2", struct.pack("<4f", 1, 2, 3, 4))
y = npy("<i8", "2,", struct.pack("<2q", 0, 1))
for kind, width in (("|b1", 1), ("|i1", 1), ("|u1", 1), ("<i2", 2), ("<u2", 2), ("<i4", 4), ("<u4", 4), ("<i8", 8), ("<f2", 2), ("<f4", 4), ("<f8", 8)):
    seed("npy", kind[1:], npy(kind, "2, 1", bytes(range(2 * width)), 1 + width % 3))
members = [(b"x.npy", x), (b"y.npy", y), (b"client.npy", y), (b"split.npy", npy("|u1", "2,", b"\0\1"))]
seed("npz", "stored", archive(members, False))
seed("npz", "deflated", archive(members, True))
seed("npz", "bytes", archive([(b"x.npy", npy("|u1", "2, 1, 2", b"\1\2\3\4")), (b"y.npy", y)], True))
seed("wav", "pcm16", wav(1, 1, 8000, 16, bytes(range(64))))
seed("wav", "pcm8", wav(1, 1, 16000, 8, bytes(range(64))))
seed("wav", "pcm24", wav(1, 1, 48000, 24, bytes(range(63))))
seed("wav", "float", wav(3, 1, 8000, 32, struct.pack("<8f", *(i / 8 for i in range(8)))))
seed("wav", "ulaw", wav(7, 1, 8000, 8, bytes(range(64))))
seed("wav", "adpcm", wav(2, 1, 8000, 4, bytes(range(64))))
seed("checkpoint", "empty-sections", checkpoint([b"model", b"recipe"]))
seed("client_state", "values", b"MUSTERCS" + struct.pack("<IIQQQ2fQQ", 1, 0, 2, 256, 2, 0.5, -1, 513, 0))
seed("client_state", "index", b"MUSTERCS" + struct.pack("<IIQQIIQ", 1, 1, 1, 256, 1, 2, 16))
# Frames of the protocol, each after its length: a varint field is (number, value), a length-delimited one (number, bytes).
def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])
def message(*fields):
    out = b""
    for number, value in fields:
        if isinstance(value, bytes):
            out += varint(number << 3 | 2) + varint(len(value)) + value
        else:
            out += varint(number << 3) + varint(value)
    return out
def frames(side, *bodies):
    return bytes([side]) + b"".join(struct.pack("<H", len(body)) + body for body in bodies)
# What the fuzzer asks: number 1 client 1 to train, 2 for a profile, 3 to score, of an edge 4 the group of clients 4 and 5, 6 for a
# key of a chain, 7 to train in it, and 8 client 7 for its input to a secure sum.
def task(number):
    return message((1, b"r"), (2, 1), (3, number), (4, 1), (6, number))
def reply(number, kind, *fields):
    return message((6, message((1, task(number)), (kind, message(*fields)))))
who = [(3, message((1, client))) for client in range(1, 8)]
hello = message((1, message((1, 1), *who)))
zeros = struct.pack("<BQ", 5 << 3 | 1, 0xC77B3ABB6F87ACD9)  # the checksum of eight bytes of zero
vector = message((4, message((1, 1), (2, 2), (4, bytes(8))) + zeros))
basis = (8, message((1, 1)))
members = [(4, message((1, client), (2, 3), (7, 1), basis)) for client in (4, 5)]
seed("frames", "trained", frames(1, hello, vector, reply(1, 3, (1, 1), (3, 5), (8, 1))))
seed("frames", "told", frames(1, hello, vector, reply(2, 4, (1, 3), (2, 1), (3, 9))))
seed("frames", "evaluated", frames(1, hello, vector, reply(3, 5, (1, 4), (2, 3), (4, 1), (5, message((1, 1), (2, 1), (3, 4))), (6, 1))))
seed("frames", "dropped", frames(1, hello, *(reply(number, 2, (1, number), (2, number)) for number in (1, 2, 3))))
key = message((1, 6), (2, bytes(32)), (3, b"certificate"), (4, bytes(64)))
head = message((1, 7), (3, bytes(32)), (4, message((1, 6), (2, bytes(48)))), (4, message((1, 7), (2, bytes(48)))))
sealed = message((4, message((1, 1), (2, 8), (4, bytes(32)))))
seed("frames", "chain", frames(1, hello, reply(6, 20, (1, 6), (2, bytes(32)), (3, b"certificate"), (4, bytes(64))), sealed, reply(7, 3, (1, 1), (3, 5), (20, head))))
summed = message((1, message((1, b"r"), (2, 1), (3, 8), (4, 1), (6, 7))), (8, message((1, message((1, 1), (2, 8))), (2, message((3, 5))))))
seed("frames", "summed", frames(1, hello, vector, message((6, summed))))
edge = message((1, message((1, 1), (4, 1))))
seed("frames", "edge", frames(3, edge, message((8, message(*((1, client) for _, client in who)))), vector, reply(4, 6, (1, 1), (3, 6), *members)))
seed("frames", "gone", frames(3, edge, message((8, message((1, who[3][1]), (1, who[4][1])))), message((8, message((2, who[4][1])))), reply(4, 6, (3, 3), members[0], (5, message((1, 5), (2, 3))))))
memory = message((1, message((1, 1))), (2, message((1, 1), (2, 1))))
def ask(number, kind, *fields):
    return message((5, message((1, task(number)), (2, 1000), (kind, message(*fields)))))
seed("frames", "ask", frames(0, vector, ask(1, 3, (1, 1), (2, 1), (5, 1), (6, memory)), message((7, message((1, task(1)), (2, 1)))), message((9, message((1, 1))))))
seed("frames", "asks", frames(0, vector, ask(1, 4, (1, b"losses"), (2, 1), (3, 1), (3, 1)), ask(2, 5, (1, 1)), ask(3, 6, (1, 1), (5, 1), (5, 2), (7, memory), (7, memory)), message((7, message((1, task(3)))))))
seed("frames", "refusal", frames(0, message((3, message((1, b"no")))), message((10, message((1, b"0123456789abcdef"))))))
for side, size in ((0, 610), (1, 223), (2, 223)):  # as many values as the network has
    model = message((4, message((1, 1), (2, size))))
    seed("asks", f"train-{side}", frames(side, model, ask(1, 3, (1, 1), (2, 1 - side % 2), (5, 1)), ask(2, 3, (1, 1), (6, memory))))
    visit = message((1, key), (2, message((1, 6), (3, bytes(32)), (4, message((1, 1), (2, bytes(48)))))), (3, key))
    seed("asks", f"chain-{side}", frames(side, model, ask(1, 20), ask(1, 3, (1, 1), (20, message())), ask(1, 3, (1, 1), (20, message((1, key)))), ask(1, 3, (1, 1), (20, visit))))
    seed("asks", f"tell-{side}", frames(side, model, ask(1, 4, (1, (b"label-histogram", b"update-direction", b"losses")[side]), (2, 1), (3, 1)), ask(2, 4, (1, b"losses"), (2, 1), (3, 1))))
    seed("asks", f"score-{side}", frames(side, model, ask(1, 5, (1, 1)), ask(2, 5, (1, 1), (4, 1)), ask(3, 5, (2, 1), (3, 1))))
# A client with a table of its own: two rows, labels x and y, a column of numbers with its sums and one of categories.
sums = bytes([1 << 3, 2, 2 << 3 | 1]) + struct.pack("<d", 3) + bytes([3 << 3 | 1]) + struct.pack("<d", 0.5)
sheet = message((1, 2), (2, 1), (3, b"x"), (3, b"y"), (4, message((1, b"a"), (2, 1))), (4, message((1, b"b"), (2, 2), (3, b"u"), (3, b"v"), (4, b"\1\1"))), (7, sums))
seed("frames", "sheet", frames(1, message((1, message((1, 1), (3, message((2, b"site"), (3, sheet))))))))
arrays = message((1, 2), (3, b"0"), (3, b"1"), (5, b"\1\1\2"))
seed("frames", "arrays", frames(1, message((1, message((1, 1), (3, message((2, b"site"), (3, arrays))))))))
# Several of them: what they want of the recipe is the first byte's to say (sheet_fuzz.cc).
def joining(*sheets):
    return message((1, message((1, 1), *((3, message((2, b"site-%d" % i), (3, told))) for i, told in enumerate(sheets)))))
plain = message((1, 2), (2, 1), (3, b"x"), (3, b"y"), (4, message((1, b"a"), (2, 1))), (4, message((1, b"b"), (2, 2), (3, b"u"), (3, b"w"))), (7, sums))
other = message((1, 5), (3, b"0"), (4, message((1, b"c"), (2, 1))), (7, sums))
seed("sheet", "tables", frames(0, joining(plain, plain), joining(other)))
seed("sheet", "filled", frames(4, joining(sheet, sheet)))
seed("sheet", "split", frames(0x60, joining(plain, plain, other)))
seed("sheet", "arrays", frames(1, joining(arrays, arrays)))
seed("sheet", "scaled", frames(0x19, joining(arrays + message((7, sums), (7, sums)), arrays + message((7, sums), (7, sums)))))
# An edge with two clients (asks_fuzz.cc): it is told how they read, who they are, and that one is refused.
how = message((11, message((1, b"rounds = 1"))))
def named(name, *more):
    return message((1, message((1, 1), (3, message((2, name), *more)))))
def admitted(name, *outcome):
    return message((12, message((1, message((1, message((2, name))), *outcome)), (2, 9))))
begins = message((2, message((1, b"r"), (2, 1), (3, b"rounds = 1"), (6, b"{}"), (9, 4))))
seed("asks", "edge-admits", frames(128, how, named(b"a"), named(b"a", (3, sheet)), named(b"be", (3, sheet)), begins, admitted(b"a", (2, 3)), admitted(b"be", (3, message((1, b"no"), (2, 1))))))
seed("asks", "edge-again", frames(128, begins, named(b"a", (3, sheet)), admitted(b"a", (2, 3)), admitted(b"a", (2, 5)), admitted(b"nobody", (2, 3)), hello, begins))
seed("frames", "how", frames(0, message((11, message((1, b"rounds = 1"))))))
seed("certificate", "client", certificate([b"muster:client:sim-0", b"muster:clients:0-49,60"]))
seed("certificate", "cloud", certificate([b"muster:cloud:main", b"https://example.org"]))
seed("certificate", "pem", b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(certificate([b"muster:edge:e"])) + b"-----END CERTIFICATE-----\n")
seed("peer_text", "ranges", b"\x000-49,60,70-4294967295")
seed("peer_text", "uris", b"\x01muster:client:site-3\nmuster:clients:0-9\nhttps://example.org")
seed("peer_text", "time", b"\x022026-11-02T10:00:00Z")
seed("peer_text", "address", b"\x03[::1]:65535")
seed("peer_text", "shown", b"\x04caf\xc3\xa9 \x1b[2J\xe2\x80\xae\xff")
tensors = b'{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"F32","shape":[3],"data_offsets":[24,36]}}'
seed("safetensors", "two", safetensors(tensors, bytes(36)))
seed("client_table", "counts", "0c0,c1,c2\n8,0,1\n0,8,2\n")
seed("client_table", "bare", "08,0\r\n7,1\r\n")
seed("client_table", "vectors", "10.5,-2e3\nnan,inf\n")
seed("client_table", "npy", b"2" + npy("<f4", "2, 2", bytes(16)))
seed("client_table", "sizes", "3size\n10\n0\n")
seed("client_table", "names", "4a\nb\n\"a\"\n")
recipe_file = '[data]\nsource = "csv"\npath = "x.csv"\n[local]\nobjective = "prox"\nmu = 0.5\n[plan]\ngroups = { growth = "log", alpha = 2.0, beta = 10 }\n'
seed("recipe", "file", "\n\n" + recipe_file)
seed("recipe", "settings", "fedgsp\nlocal.steps=3\nplan.groups={growth=\"exp\",beta=3}\ndata.clients=40\nmodel.name=mlp\nmodel.hidden=[3,4]\n\n")
seed("recipe", "choices", "fedgroup\naggregation.global=adam\naggregation.beta1=0.5\nnewcomers.round=3\ngrouping.method=random\n\n")

seed("stored_lines", "round", '{"round":1,"accuracy":0.5,"loss":1,"participants":3,"dropped":[{"client":1,"reason":"x"}],"bytes_up":10}')
seed("stored_lines", "grouping", '{"round":1,"method":"m","why":"w","count":2,"quality":{"cov_mean":0.5},"idle":[3],"members":[[0],[1,2]]}')
seed("stored_lines", "client", '0,"a, ""b""",10,,1,2,0.5,4')
seed("stored_lines", "stamps", "1 2 3;" * 8)
seed("stored_lines", "keys", recipe_file)
# Bytes that choose the run, whether it is extended, and what is done to its folder.
for kind in range(10):
    seed("run_folder", f"kind-{kind}", bytes([kind * 3, kind, 0, kind] + [(kind * 37 + 11 * i) % 256 for i in range(40)]))

seed("layers", "images", b"\x0b\x0b\x02conv 8 3 pad same\nbatch-norm\nrelu\nmax-pool 2\nresidual padded\nconv 12 3x1 pad same\ngelu\n.\ndropout 0.3\ndense 9 as top\ntanh")
seed("layers", "words", b"\x00\x05\x00embedding 9 4\nlstm 5 sequence\nlayer-norm\ngru 6 sequence\nmean-pool 2 stride 1\nglobal-mean\ngroup-norm 2")


# Messages of a secure sum: the first byte says which one, then words as ParcelWriter writes them.
def sized(each, *items):
    return struct.pack("<Q", len(items)) + b"".join(struct.pack(each, item) if each else item for item in items)


def text(content):
    return struct.pack("<Q", len(content)) + content


keys = struct.pack("<I", 2) + bytes(range(96)) + text(b"") + text(b"s" * 64)
terms = text(b"fuzz") + struct.pack("<QIII", 0, 1, 0, 0) + bytes(32) + sized("<I", 1, 2, 3) + sized(None) + struct.pack("<IIIIIQ", 0, 2, 4, 32, 22, 4)
share_list = sized(None, *(struct.pack("<I", client) + bytes(144) for client in (2, 3)))
opening = sized("<I", 1, 2) + sized("<I", 3) + sized(None, struct.pack("<I", 2) + text(b"s" * 64))
opened = sized(None, *(struct.pack("<I", client) + bytes(64) for client in (1, 2, 3)))
for kind, content in enumerate([terms, keys, sized(None, keys, keys), share_list, sized("<I", 1, 2, 3, 4), sized("<B", 31), opening, opened, text(b"s" * 64)]):
    seed("sum_messages", f"message-{kind}", bytes([kind]) + content)
for kind, content in enumerate([terms, sized(None, keys), share_list, sized("<B", 7), opening]):
    seed("secure_sum", f"told-{kind}", bytes([kind + 40]) + content)
for kind, content in enumerate([keys, share_list, sized("<I", 1, 2, 3, 4), text(b"s" * 64), opened]):
    seed("secure_sum", f"says-{kind}", bytes([(20, 16, 17, 18, 19)[kind]]) + content)
seed("cost_file", "costs", '{"format":"muster-costs-1","operations":[{"operation":"secure-sum","parameters":25000,"quadratic":1e-6,"linear":2e-5,"constant":1e-4,"r2":0.99},'
     '{"operation":"secure-sum","parameters":272000,"quadratic":1e-6,"linear":2e-4,"constant":1e-3,"r2":1.0}],"epoch":{"quadratic":0.0,"linear":0.01,"constant":0.0001,"r2":0.999}}')
