"""all-MiniLM-L6-v2: from the published safetensors and WordPiece vocabulary to a Q8_0 GGUF.

Format of the source: https://github.com/huggingface/safetensors#format
"""

import json
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import quantize
from numpy.typing import NDArray

WEIGHTS, VOCABULARY = "model.safetensors", "vocab.txt"

_LAYERS, _HEADS, _WIDTH, _FEED_FORWARD, _POSITIONS, _EPSILON = 6, 12, 384, 1536, 512, 1e-12
_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
_EXACT = ("position_embd", "token_types")


def convert(folder: Path, target: Path) -> None:
    """Write the model in `folder` to `target` as GGUF; the same bytes each time."""
    writer = gguf.GGUFWriter(target, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_context_length(_POSITIONS)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_block_count(_LAYERS)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(_EPSILON)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    _add_tokenizer(writer, (folder / VOCABULARY).read_text("utf-8").split("\n"))
    for name, weights in _tensors(folder / WEIGHTS):
        if weights.ndim == 2 and not name.startswith(_EXACT):
            q8 = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, quantize(weights, q8), raw_dtype=q8)
        else:
            writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: gguf.GGUFWriter, lines: list[str]) -> None:
    pieces = lines[:-1] if lines[-1] == "" else lines
    special = {"[UNK]": gguf.TokenType.UNKNOWN} | dict.fromkeys(
        ("[PAD]", "[CLS]", "[SEP]", "[MASK]"), gguf.TokenType.CONTROL
    )
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([_phantom_space(piece) for piece in pieces])
    writer.add_token_types([special.get(piece, gguf.TokenType.NORMAL) for piece in pieces])
    writer.add_token_type_count(2)
    writer.add_bos_token_id(pieces.index("[CLS]"))
    writer.add_eos_token_id(pieces.index("[SEP]"))
    writer.add_unk_token_id(pieces.index("[UNK]"))
    writer.add_sep_token_id(pieces.index("[SEP]"))
    writer.add_pad_token_id(pieces.index("[PAD]"))
    writer.add_mask_token_id(pieces.index("[MASK]"))


def _phantom_space(piece: str) -> str:
    """Spell a WordPiece as llama.cpp wants it: the beginning of a word is marked, not its continuation."""
    if piece.startswith("##"):
        return piece[2:]
    return piece if piece.startswith("[") and piece.endswith("]") else "\u2581" + piece


def _tensors(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the float32 tensors that the network needs, under their GGUF names."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    header_bytes = int(data[:8].view("<u8")[0])
    header = json.loads(bytes(data[8 : 8 + header_bytes]))
    for name, entry in header.items():
        if gguf_name := _gguf_name(name):
            start, stop = entry["data_offsets"]
            raw = data[8 + header_bytes + start : 8 + header_bytes + stop]
            yield gguf_name, np.asarray(raw.view("<f4").reshape(entry["shape"]))


def _gguf_name(name: str) -> str | None:
    """Translate a tensor's name; None for the pooler, position ids and metadata."""
    stem, _, kind = name.rpartition(".")
    layer = ""
    if stem.startswith("encoder.layer."):
        _, _, number, stem = stem.split(".", 3)
        layer = f"blk.{number}."
    return f"{layer}{_NAMES[stem]}.{kind}" if stem in _NAMES else None
