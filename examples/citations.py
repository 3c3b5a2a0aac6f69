"""Citation graphs from an .npz file: papers, who cites whom, the words of each paper, its field.

The file holds row_ptr and col_idx (neighbours of each paper), x_indptr, x_indices and x_data (words of
each paper, CSR), labels, train and test (numbers of papers).
"""

from pathlib import Path

import numpy as np

from gcn import Task


def load(path):
    with np.load(path) as file:
        degree, words = np.diff(file["row_ptr"]), np.diff(file["x_indptr"])
        paper = np.arange(len(degree))
        value = file["x_data"].astype(np.float32)
        row = paper.repeat(words)
        total = np.bincount(row, value, minlength=len(paper))
        return Task(
            name=Path(path).stem,
            src=file["col_idx"],
            dst=paper.repeat(degree),
            feature_row=row,
            feature_column=file["x_indices"].astype(np.int64),
            feature_value=(value / total[row]).astype(np.float32),  # each paper's words sum to 1
            labels=file["labels"],
            train=file["train"],
            test=file["test"],
        )
