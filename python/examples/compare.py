"""Compares BM25, impacts and a `bp` order of one collection with pt.Experiment, and prints the table.

    python compare.py docs.jsonl topics.tsv qrels.txt

`docs.jsonl` has an id and a text a line, `topics.tsv` a number, a tab and words, and `qrels.txt` is TREC's.
"""

import sys
import tempfile
import time
from pathlib import Path

import gamut
import gamut.terrier
import pandas as pd
import pyterrier as pt

documents, topics, qrels = map(Path, sys.argv[1:4])

topics = pd.read_csv(topics, sep="\t", names=["qid", "query"], dtype=str, quoting=3)
qrels = pd.read_csv(qrels, sep=r"\s+", names=["qid", "iteration", "docno", "label"], dtype={"qid": str, "docno": str})

with tempfile.TemporaryDirectory() as folder:
    began = time.perf_counter()
    report = gamut.index(documents, f"{folder}/plain", analyzer="english", codec="pef", impacts=True)
    print(f"{report['documents']} documents indexed in {time.perf_counter() - began:.2f} s")

    began = time.perf_counter()
    gamut.reorder(f"{folder}/plain", "bp", output=f"{folder}/bp")
    print(f"reordered in {time.perf_counter() - began:.2f} s")

    plain, bp = (gamut.terrier.Index(f"{folder}/{name}") for name in ("plain", "bp"))
    for name, index in (("plain", plain), ("bp", bp)):
        [codec] = index.index.stats()["codecs"]
        print(f"{name}: {codec['bits_per_posting_with_tf']:.2f} bits a posting in {codec['name']}")

    table = pt.Experiment(
        [plain.retriever(1000), plain.retriever(1000, scores="impacts"), bp.retriever(1000)],
        topics,
        qrels,
        ["map", "ndcg_cut_10", "recip_rank", "recall_1000", "mrt"],
        names=["BM25", "impacts", "BM25, bp order"],
        baseline=0,
    )
    print(table[["name", "map", "ndcg_cut_10", "recip_rank", "recall_1000", "mrt"]].to_string(index=False))
