"""Embedding models with random weights and the tokenizer of the bundled model."""

from __future__ import annotations

from pathlib import Path

from vectorstore.embedding.model_folder import bundled_model


def write_model(folder: Path, *, dimension: int = 32, max_tokens: int = 128, seed: int = 0) -> Path:
    """Write a random sentence-transformers model, and return its folder. The same text gets the same vector."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(seed)
    bare = folder / "bare"
    tokenizer = AutoTokenizer.from_pretrained(bundled_model())
    tokenizer.save_pretrained(bare)
    BertModel(
        BertConfig(
            vocab_size=len(tokenizer), hidden_size=dimension, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=dimension, max_position_embeddings=max_tokens,
        )
    ).save_pretrained(bare)  # fmt: skip
    model = folder / "model"
    transformer = Transformer(str(bare), max_seq_length=max_tokens)
    SentenceTransformer(modules=[transformer, Pooling(dimension)], device="cpu").save(str(model))
    return model


def write_cross_encoder(folder: Path, *, outputs: int = 1) -> Path:
    """Write a random cross-encoder, and return its folder."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(bundled_model())
    tokenizer.save_pretrained(folder)
    BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=32, max_position_embeddings=128, num_labels=outputs,
        )
    ).save_pretrained(folder)  # fmt: skip
    return folder
