"""A small decoder with random weights, batched continuously, behind Triton's generate extension.

A token is four bytes of the prompt, hashed. Each round gives one more token to every answer that
runs, after the prompts of those that have just begun. Weights are seeded, so that a prompt always has
the same answer. It computes what a decoder of its size computes (attention over a cache, two matrices a
layer) and nothing that is worth reading.
"""

import queue
import threading
import zlib

import numpy as np
import triton_python_backend_utils as pb

WIDTH, LAYERS, HEADS, RUNNING_MAX, POSITIONS = 256, 4, 4, 8, 2048
HEAD = WIDTH // HEADS
VOCABULARY, TOKEN_BYTES = 4096, 4


class Weights:
    def __init__(self):
        draw = np.random.default_rng(1)

        def matrix(rows, columns):
            return (draw.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)

        self.embedding = matrix(VOCABULARY, WIDTH)
        self.layers = [
            (matrix(WIDTH, 3 * WIDTH), matrix(WIDTH, WIDTH), matrix(WIDTH, 4 * WIDTH), matrix(4 * WIDTH, WIDTH))
            for _ in range(LAYERS)
        ]


def normal(x):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)


class Answer:
    """One request on its way: its cache of keys and values, and where its bytes go."""

    def __init__(self, request):
        text = pb.get_input_tensor_by_name(request, "text_input").as_numpy().reshape(-1)[0]
        pieces = [text[at : at + TOKEN_BYTES] for at in range(0, len(text), TOKEN_BYTES)] or [b""]
        self.prompt = [zlib.crc32(piece) % VOCABULARY for piece in pieces[: POSITIONS // 2]]
        wanted = int(pb.get_input_tensor_by_name(request, "max_tokens").as_numpy().reshape(-1)[0])
        self.left = max(1, min(wanted, POSITIONS // 2))
        self.sender = request.get_response_sender()
        self.cache = np.zeros((LAYERS, 2, HEADS, POSITIONS, HEAD), np.float32)
        self.length = 0

    def forward(self, weights, tokens):
        """The token after `tokens`, which are appended to the cache."""
        begin, end = self.length, self.length + len(tokens)
        x = weights.embedding[tokens]
        causal = np.triu(np.full((end - begin, end), -1e9, np.float32), begin + 1)
        for cache, (qkv, out, up, down) in zip(self.cache, weights.layers):
            q, k, v = (normal(x) @ qkv).reshape(-1, 3, HEADS, HEAD).transpose(1, 2, 0, 3)
            cache[0, :, begin:end], cache[1, :, begin:end] = k, v
            scores = q @ cache[0, :, :end].transpose(0, 2, 1) / np.sqrt(HEAD) + causal
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ cache[1, :, :end]
            x = x + mixed.transpose(1, 0, 2).reshape(-1, WIDTH) @ out
            x = x + np.maximum(normal(x) @ up, 0) @ down
        self.length = end
        logits = normal(x[-1]) @ weights.embedding.T
        return int(np.argmax(logits))

    def send(self, token, last):
        response = pb.InferenceResponse([
            pb.Tensor("text_output", np.array([f" {token}".encode()], dtype=object)),
            pb.Tensor("num_input_tokens", np.array([len(self.prompt)], np.uint32)),
            pb.Tensor("num_output_tokens", np.array([1], np.uint32)),
        ])
        flags = pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL if last else 0
        self.sender.send(response, flags=flags)


class TritonPythonModel:
    def initialize(self, arguments):
        self.weights = Weights()
        self.waiting = queue.Queue()
        # Who finds no room waits in Triton's own queue, where its metrics count it.
        self.room = threading.Semaphore(RUNNING_MAX)
        self.ended = threading.Event()
        self.worker = threading.Thread(target=self.work)
        self.worker.start()

    def execute(self, requests):
        for request in requests:
            answer = Answer(request)
            self.room.acquire()
            self.waiting.put(answer)
        # Answers are sent by the worker, as they come.
        return None

    def work(self):
        running = []
        while not self.ended.is_set():
            while True:
                try:
                    answer = self.waiting.get(block=not running, timeout=0.1)
                except queue.Empty:
                    break
                answer.token = answer.forward(self.weights, answer.prompt)
                running.append(answer)
            for answer in running:
                answer.left -= 1
                answer.send(answer.token, last=answer.left == 0)
                if answer.left == 0:
                    self.room.release()
                else:
                    answer.token = answer.forward(self.weights, [answer.token])
            running = [answer for answer in running if answer.left]

    def finalize(self):
        self.ended.set()
        self.worker.join()
