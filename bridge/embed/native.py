"""llama.cpp's own interface: one model shared by several contexts.

The package's `Llama` class loads weights and tokenizer anew for each context; here they are
loaded once. A context serves one thread at a time and computes in that thread alone, one text
a call: a batch of texts would attend over all of them and be slower.
"""

import ctypes
import os
import sys
from collections import deque
from mmap import PAGESIZE
from pathlib import Path

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from bridge.errors import InstallationError
from bridge.offloop import assert_off_loop

POOLINGS = {
    "mean": llama_cpp.LLAMA_POOLING_TYPE_MEAN,
    "cls": llama_cpp.LLAMA_POOLING_TYPE_CLS,
    "last": llama_cpp.LLAMA_POOLING_TYPE_LAST,
}
_LOG_ERROR = 4  # ggml_log_level in ggml.h
_MADV_DONTNEED = 4  # sys/mman.h

_complaints: deque[str] = deque(maxlen=4)


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_complaints(level: int, text: bytes, _data: object) -> None:
    """Keep the library's last errors for our own sentence; the rest is chatter about tensors."""
    if level == _LOG_ERROR:
        _complaints.append(text.decode("utf-8", "replace").strip())


class Model:
    """Weights and tokenizer of a GGUF file; `free` it after its contexts."""

    def __init__(self, path: Path) -> None:
        """Load the file; raises `InstallationError` when llama.cpp cannot."""
        assert_off_loop()
        llama_cpp.llama_log_set(_keep_complaints, None)
        llama_cpp.llama_backend_init()
        _complaints.clear()
        settings = llama_cpp.llama_model_default_params()
        settings.n_gpu_layers = 0
        self.handle = llama_cpp.llama_model_load_from_file(os.fsencode(path), settings)
        if not self.handle:
            raise InstallationError(
                f"The model file {path} cannot be loaded ({'; '.join(_complaints) or 'no reason given'}); "
                "it may be cut or of an unknown kind. Keyword search works without it. "
                "Get it again with: transom model get",
                key="model_unusable",
                path=str(path),
            )
        self._vocabulary = llama_cpp.llama_model_get_vocab(self.handle)
        self.n_vocabulary: int = llama_cpp.llama_vocab_n_tokens(self._vocabulary)
        self.dimensions: int = llama_cpp.llama_model_n_embd_out(self.handle)
        self.trained_window: int = llama_cpp.llama_model_n_ctx_train(self.handle)
        self.opening, self.closing = self._special_tokens()

    def tokens(self, text: str, *, special: bool = True) -> list[int]:
        """Split a text into token ids, with the special ones around it; any thread may."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        while True:
            ids = (llama_cpp.llama_token * room)()
            n = llama_cpp.llama_tokenize(self._vocabulary, data, len(data), ids, room, special, False)
            if n >= 0:
                return ids[:n]
            room = -n

    def free(self) -> None:
        """Give everything back."""
        llama_cpp.llama_model_free(self.handle)

    def _special_tokens(self) -> tuple[list[int], list[int]]:
        """Find which tokens this model puts before and after each text."""
        bare, whole = self.tokens("a", special=False), self.tokens("a")
        at = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
        return whole[:at], whole[at + len(bare) :]


class Context:
    """What one thread needs to compute embeddings of up to `window` tokens."""

    def __init__(self, model: Model, window: int, pooling: str | None) -> None:
        """Reserve the memory; `pooling` None takes the file's own."""
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = window
        settings.n_seq_max = 1
        settings.n_threads = settings.n_threads_batch = 1
        settings.embeddings = True
        settings.no_perf = True
        settings.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        if pooling:
            settings.pooling_type = POOLINGS[pooling]
        self._model = model
        self._window = window
        self._handle = llama_cpp.llama_init_from_model(model.handle, settings)
        if not self._handle:
            raise InstallationError(
                "There is not enough memory for the embedding model; keyword search works without it. "
                "Take a smaller one, for example: transom model use all-MiniLM-L6-v2",
                key="model_memory",
            )
        self.pooling: int = llama_cpp.llama_pooling_type(self._handle)
        if self.pooling not in POOLINGS.values():
            llama_cpp.llama_free(self._handle)
            raise InstallationError(
                "That GGUF file holds no embedding model (it names no pooling of mean, cls or last); "
                "keyword search works without it. Choose another: transom model list",
                key="model_unusable",
            )
        self._release_logits()

    def embed(self, tokens: list[int]) -> NDArray[np.float32]:
        """Compute the pooled vector of one text, as the model gives it; zero for no tokens at all."""
        if not tokens:
            return np.zeros(self._model.dimensions, np.float32)
        self._compute(tokens)
        found = llama_cpp.llama_get_embeddings_seq(self._handle, 0)
        return np.ctypeslib.as_array(found, (self._model.dimensions,)).astype(np.float32)

    def free(self) -> None:
        """Give the memory back."""
        llama_cpp.llama_free(self._handle)

    def _compute(self, tokens: list[int]) -> None:
        assert_off_loop()
        n = len(tokens)
        assert n <= self._window, "llama.cpp ends the process for more"
        ids = (llama_cpp.llama_token * n)(*tokens)
        batch = llama_cpp.llama_batch_get_one(ids, n)
        batch.logits = (ctypes.c_int8 * n)(*[1] * n)
        if memory := llama_cpp.llama_get_memory(self._handle):
            llama_cpp.llama_memory_clear(memory, True)
            failed = llama_cpp.llama_decode(self._handle, batch)
        else:
            failed = llama_cpp.llama_encode(self._handle, batch)
        if failed:
            raise InstallationError(
                f"The embedding model failed ({'; '.join(_complaints) or 'no reason given'}); "
                "nothing is lost and keyword search works. Restart, or choose another model.",
                key="model_unusable",
            )

    def _release_logits(self) -> None:
        """Return the pages of the logits, which an embedding model never writes.

        llama.cpp reserves and clears tokens x vocabulary floats once a context, at its longest
        text: 256 MB here for a vocabulary of 250,000. Pages read or written later come back as
        zeros, so this is safe even for a model that does fill them.
        """
        if sys.platform != "linux":
            return
        self._compute([0] * self._window)
        logits = ctypes.cast(llama_cpp.llama_get_logits(self._handle), ctypes.c_void_p).value
        if logits:
            end = logits + 4 * self._window * self._model.n_vocabulary
            first, last = -(-logits // PAGESIZE) * PAGESIZE, end // PAGESIZE * PAGESIZE
            madvise = ctypes.CDLL(None).madvise
            madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
            madvise(first, last - first, _MADV_DONTNEED)
