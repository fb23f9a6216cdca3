"""Passages that the embedding model embeds per second, compared with onnxruntime with the same weights.

    cargo build --release --bin carrel --example embed
    python3.11 -m venv DIR && DIR/bin/pip install onnx onnxruntime safetensors tokenizers
    DIR/bin/python tests/bench/embedding.py --models ~/.cache/carrel/models [--embed target/release/examples/embed] \
        [--passages 400] [--threads 2] [--turns 5]

The passages are abstracts of SciFact. Each program gets them as texts, and splits them into tokens with the same library; both take at
most 512 tokens of a passage, and use --threads threads. They run in turns, so that other load of the machine affects all of them:

- `carrel` is the server's own code without the server (embed.rs), in 8-bit integers, as the server runs it.
- `carrel_f32` is the same in 32-bit floats.
- `onnxruntime` runs the encoder in 32-bit floats, in a graph that this script makes of the model's file of weights, with the operators
  in which onnxruntime fuses attention, residual connections and GELU. Passages of similar length are padded to a batch.
- `onnxruntime_int8` is that graph with 8-bit weights, as `quantize_dynamic` of onnxruntime makes it.

onnxruntime runs in the best of several ways for each graph: batches of 1, 8 or 32 passages, on one session with all threads or on one
session for each thread. A part of the passages is embedded in each way first.

The script prints for each program the medians of the turns: passages per second and CPU-milliseconds of a passage; and the least and the
mean cosine of its vectors to those of `onnxruntime`, which shows that the weights are the same. Then it prints the ratios of `carrel` and
`carrel_f32` to the others: the goal is 1.5 for carrel to onnxruntime.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import time
import typing

import numpy
import onnx
import onnxruntime
import tokenizers
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

from search import lines_of
from service import arguments, folder, machine, own_cpu_seconds, say

MODEL = "all-minilm-l6-v2"
MAX_TOKENS = 512
BATCH_SIZES = (1, 8, 32)
# Passages that are embedded in each way to find the best one.
TRIAL_PASSAGES = 32
# Domain of the operators of onnxruntime that fuse several others.
FUSED = "com.microsoft"


class Graph:
    """The encoder of a BERT model as an ONNX graph."""

    def __init__(self, model: pathlib.Path) -> None:
        self.config = json.loads((model / "config.json").read_text())
        self.weights, self.nodes, self.constants = load_file(model / "model.safetensors"), [], []

    def constant(self, name: str, array: numpy.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def linear(self, name: str) -> tuple[str, str]:
        """The matrix and the bias of a linear map. The file has matrices by rows of the output, MatMul wants them by columns."""
        return self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T), self.weight(f"{name}.bias")

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def norm(self, rows: str, residual: str, name: str, bias: str) -> str:
        """The normalised sum of rows, a residual connection and a bias."""
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("SkipLayerNormalization", rows, residual, scale, shift, bias, domain=FUSED, epsilon=self.config["layer_norm_eps"])

    def embeddings(self) -> str:
        words = self.add("Gather", self.weight("embeddings.word_embeddings.weight"), "ids")
        # Each passage is a single segment, so the embedding of the first token type is that of all tokens.
        rows = self.weights["embeddings.position_embeddings.weight"] + self.weights["embeddings.token_type_embeddings.weight"][0]
        positions = self.add("Gather", self.constant("positions", rows), "positions_of_tokens")
        name = "embeddings.LayerNorm"
        return self.add("LayerNormalization", self.add("Add", words, positions), self.weight(f"{name}.weight"),
                        self.weight(f"{name}.bias"), axis=-1, epsilon=self.config["layer_norm_eps"])

    def layer(self, number: int, rows: str) -> str:
        of = f"encoder.layer.{number}"
        maps = [f"{of}.attention.self.{part}" for part in ("query", "key", "value")]
        matrix = self.constant(f"{of}.qkv", numpy.concatenate([self.weights[f"{name}.weight"].T for name in maps], axis=1))
        bias = self.constant(f"{of}.qkv_bias", numpy.concatenate([self.weights[f"{name}.bias"] for name in maps]))
        mixed = self.add("Attention", rows, matrix, bias, "mask", domain=FUSED, num_heads=self.config["num_attention_heads"])
        matrix, bias = self.linear(f"{of}.attention.output.dense")
        rows = self.norm(self.add("MatMul", mixed, matrix), rows, f"{of}.attention.output.LayerNorm", bias)
        matrix, bias = self.linear(f"{of}.intermediate.dense")
        inner = self.add("BiasGelu", self.add("MatMul", rows, matrix), bias, domain=FUSED)
        matrix, bias = self.linear(f"{of}.output.dense")
        return self.norm(self.add("MatMul", inner, matrix), rows, f"{of}.output.LayerNorm", bias)

    def save(self, file: pathlib.Path) -> None:
        rows = self.embeddings()
        for number in range(self.config["num_hidden_layers"]):
            rows = self.layer(number, rows)
        self.nodes.append(helper.make_node("Identity", [rows], ["rows"]))
        inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "tokens"]),
                  helper.make_tensor_value_info("mask", TensorProto.INT32, ["batch", "tokens"]),
                  helper.make_tensor_value_info("positions_of_tokens", TensorProto.INT64, ["tokens"])]
        outputs = [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["batch", "tokens", self.config["hidden_size"]])]
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, self.constants)
        operators = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
        onnx.save(helper.make_model(graph, opset_imports=operators, ir_version=8), file)


class RunOptions(typing.NamedTuple):
    """How onnxruntime runs a graph."""

    batch: int
    sessions: int


class OnnxModel:
    """The model in onnxruntime."""

    def __init__(self, graph: pathlib.Path, tokenizer: tokenizers.Tokenizer, texts: list[str], threads: int) -> None:
        self.graph, self.tokenizer, self.texts, self.threads = graph, tokenizer, texts, threads
        choices = [RunOptions(batch, sessions) for batch in BATCH_SIZES for sessions in sorted({1, threads})]
        self.options = min(choices, key=self.time_of)
        self.open(self.options)
        self.vectors = self.embed(texts)

    def time_of(self, options: RunOptions) -> float:
        self.open(options)
        # The first run allocates memory.
        self.embed(self.texts[:TRIAL_PASSAGES])
        began = time.perf_counter()
        self.embed(self.texts[:TRIAL_PASSAGES])
        return time.perf_counter() - began

    def open(self, options: RunOptions) -> None:
        settings, providers = onnxruntime.SessionOptions(), ["CPUExecutionProvider"]
        settings.intra_op_num_threads, settings.inter_op_num_threads = self.threads // options.sessions, 1
        self.sessions = [onnxruntime.InferenceSession(self.graph, settings, providers=providers) for _ in range(options.sessions)]
        self.batch = options.batch

    def embed(self, texts: list[str]) -> numpy.ndarray:
        """One vector of unit length for each text, in order."""
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]
        order = sorted(range(len(tokens)), key=lambda number: -len(tokens[number]))
        batches = iter([order[first:first + self.batch] for first in range(0, len(order), self.batch)])
        vectors = [None] * len(texts)

        def run(session: onnxruntime.InferenceSession) -> None:
            # The sessions share the iterator: each takes the next batch.
            for batch in batches:
                for number, vector in zip(batch, self.run(session, [tokens[number] for number in batch])):
                    vectors[number] = vector

        with concurrent.futures.ThreadPoolExecutor(len(self.sessions)) as pool:
            # The list raises the error of a thread.
            list(pool.map(run, self.sessions))
        return numpy.stack(vectors)

    @staticmethod
    def run(session: onnxruntime.InferenceSession, batch: list[list[int]]) -> numpy.ndarray:
        """The mean of the rows of each text, normalised to unit length."""
        longest = max(map(len, batch))
        ids = numpy.array([text + [0] * (longest - len(text)) for text in batch], dtype=numpy.int64)
        mask = numpy.array([[1] * len(text) + [0] * (longest - len(text)) for text in batch], dtype=numpy.int32)
        positions = numpy.arange(longest, dtype=numpy.int64)
        [rows] = session.run(None, {"ids": ids, "mask": mask, "positions_of_tokens": positions})
        sums = numpy.einsum("btw,bt->bw", rows, mask.astype(numpy.float32))
        return sums / numpy.linalg.norm(sums, axis=1, keepdims=True)

    def turn(self) -> tuple[float, float]:
        """Seconds and CPU-seconds of one pass over all texts."""
        cpu, began = time.process_time(), time.perf_counter()
        self.embed(self.texts)
        return time.perf_counter() - began, time.process_time() - cpu

    def about(self) -> dict:
        return self.options._asdict()

    def close(self) -> None:
        self.sessions = []


class CarrelModel:
    """The program embed.rs."""

    def __init__(self, home: pathlib.Path, args, *options: str) -> None:
        file = home / "vectors"
        model = (args.models / MODEL).resolve()
        command = [os.path.realpath(args.embed), model, home / "texts", file, str(args.threads), *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tokens = self.reply()["tokens"]
        self.vectors = numpy.frombuffer(file.read_bytes(), dtype="<f4").reshape(args.passages, -1)

    def reply(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("embed ended")
        return json.loads(line)

    def turn(self) -> tuple[float, float]:
        cpu = own_cpu_seconds(self.process.pid)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds = self.reply()["seconds"]
        return seconds, own_cpu_seconds(self.process.pid) - cpu

    def about(self) -> dict:
        return {"tokens": self.tokens}

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def open_tokenizer(file: pathlib.Path) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    # The file configures 128 tokens; the server takes more of a passage.
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def open_all(home: pathlib.Path, args, texts: list[str]) -> dict:
    """The programs by name."""
    model = args.models / MODEL
    tokenizer = open_tokenizer(model / "tokenizer.json")
    floats, integers = home / "f32.onnx", home / "int8.onnx"
    Graph(model).save(floats)
    # The shape inference of package onnx does not know the fused operators.
    known = {"DefaultTensorType": TensorProto.FLOAT}
    quantize_dynamic(floats, integers, weight_type=QuantType.QInt8, per_channel=True, extra_options=known)
    ours = {"carrel": CarrelModel(home, args), "carrel_f32": CarrelModel(home, args, "--exact")} if args.embed else {}
    return ours | {"onnxruntime": OnnxModel(floats, tokenizer, texts, args.threads),
                   "onnxruntime_int8": OnnxModel(integers, tokenizer, texts, args.threads)}


def measure(args) -> None:
    texts = [row["text"] for row in itertools.islice(lines_of(args.data / "retrieval/scifact/corpus.jsonl"), args.passages)]
    assert len(texts) == args.passages
    with folder() as home:
        (home / "texts").write_text(json.dumps(texts))
        programs = open_all(home, args, texts)
        turns = {name: [] for name in programs}
        for _ in range(args.turns):
            for name, program in programs.items():
                turns[name].append(program.turn())
        rates, reference = {}, programs["onnxruntime"].vectors
        for name, program in programs.items():
            seconds, cpu = (statistics.median(column) for column in zip(*turns[name]))
            rates[name] = args.passages / seconds
            cosines = (program.vectors * reference).sum(axis=1)
            say(program=name, **program.about(), passages_a_second=round(rates[name], 1), cpu_ms_each=round(cpu * 1000 / args.passages, 2),
                cosine_min=round(float(cosines.min()), 4), cosine_mean=round(float(cosines.mean()), 4))
            program.close()
    for name in ("carrel", "carrel_f32"):
        if name in rates:
            say(program=name, **{f"to_{other}": round(rates[name] / rate, 2) for other, rate in rates.items() if other != name})


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--embed", default="target/release/examples/embed", metavar="PROGRAM", help="embed.rs; empty: without it")
    parser.add_argument("--passages", type=int, default=400, metavar="N")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="of each program")
    parser.add_argument("--turns", type=int, default=5)
    measured = parser.parse_args()
    if not measured.models:
        parser.error("--models is missing")
    measured.models = pathlib.Path(measured.models).expanduser()
    machine()
    measure(measured)
    machine()
