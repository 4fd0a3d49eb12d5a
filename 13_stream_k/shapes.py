#!/usr/bin/env python3
"""Prints a list of shapes that nobody chose, in the form of --sizes: forty, the same for the same seed.

  random  M, N and K lie between 64 and 16384, evenly by their logarithms, as multiples of 8
  users   of eight shapes five are layers of published models, one has odd sizes, one has few tiles and a large K,
          and one is tall and narrow
  mixed   twenty of each

A product has at most 2^37 multiply-adds.
"""
import argparse
import random

# What each model's configuration on huggingface.co (config.json) says: the width of its hidden state, of its keys or
# values together (num_key_value_heads x head_dim), of its MLP, and its vocabulary.
MODELS = {
    "openai-community/gpt2": (768, 768, 3072, 50257),
    "openai-community/gpt2-xl": (1600, 1600, 6400, 50257),
    "google-bert/bert-base-uncased": (768, 768, 3072, 30522),
    "google-bert/bert-large-uncased": (1024, 1024, 4096, 30522),
    "meta-llama/Llama-2-7b": (4096, 4096, 11008, 32000),
    "meta-llama/Llama-2-13b": (5120, 5120, 13824, 32000),
    "meta-llama/Llama-2-70b": (8192, 1024, 28672, 32000),
    "meta-llama/Meta-Llama-3-8B": (4096, 1024, 14336, 128256),
    "meta-llama/Meta-Llama-3-70B": (8192, 1024, 28672, 128256),
    "mistralai/Mistral-7B-v0.1": (4096, 1024, 14336, 32000),
    "Qwen/Qwen2-0.5B": (896, 128, 4864, 151936),
    "Qwen/Qwen2-1.5B": (1536, 256, 8960, 151936),
    "Qwen/Qwen2-7B": (3584, 512, 18944, 152064),
    "Qwen/Qwen2-72B": (8192, 1024, 29568, 152064),
}


def between(draw, least, most, step):
    """A multiple of step, evenly by its logarithm."""
    return round(least * (most / least) ** draw.random() / step) * step


def any_shape(draw):
    return tuple(between(draw, 64, 16384, 8) for _ in range(3))


def layer(draw):
    """One matrix of weights, N x K, and a batch of M tokens: a power of two as often as any other number."""
    hidden, kv, mlp, vocabulary = draw.choice(list(MODELS.values()))
    N, K = draw.choice([
        (hidden + 2 * kv, hidden),  # queries, keys and values in one product
        (kv, hidden),               # keys or values alone
        (hidden, hidden),           # the output of the attention
        (mlp, hidden),              # the MLP up, or its gate
        (hidden, mlp),              # the MLP down
        (vocabulary, hidden),       # the last layer
    ])
    return draw.choice((2 ** draw.randint(0, 13), between(draw, 1, 8192, 1))), N, K


def odd(draw):
    """Rows of A and of B that lie on 16 bytes of FP16 (multiples of 8), on 8, on 4, or on no such boundary."""
    return tuple(between(draw, 128, 8192, draw.choice((1, 2, 4, 8))) for _ in range(3))


def long_k(draw):
    return between(draw, 128, 512, 64), between(draw, 128, 512, 64), between(draw, 16384, 65536, 64)


def tall(draw):
    return between(draw, 4096, 65536, 64), between(draw, 64, 256, 8), between(draw, 64, 256, 8)


KINDS = {"random": (any_shape,), "users": (layer, layer, odd, layer, long_k, layer, tall, layer)}


def shapes(kind, seed, count=40):
    if kind == "mixed":
        return shapes("random", seed, count // 2) + shapes("users", seed, count // 2)
    draw, found = random.Random(seed), []
    while len(found) < count:
        M, N, K = KINDS[kind][len(found) % len(KINDS[kind])](draw)
        if M * N * K <= 2 ** 37:
            found.append(f"{M}x{N}x{K}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example: ./run 13/matmul --sizes $(python3 13_stream_k/shapes.py random 12)")
    parser.add_argument("kind", choices=[*KINDS, "mixed"])
    parser.add_argument("seed", type=int, help="another list for each")
    options = parser.parse_args()
    print(",".join(shapes(options.kind, options.seed)))
