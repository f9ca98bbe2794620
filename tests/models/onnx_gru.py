"""One GRU of the ONNX standard, run by ONNX Runtime: an independent program for gated units."""

from __future__ import annotations

import numpy as np
import pytest


def onnx_gru(
    inputs: dict[str, np.ndarray], hidden_size: int, linear_before_reset: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """All states (T, D, B, H) and the last of each row (D, B, H), of D = 1 or 2 directions.

    Args:
        inputs: X (T, B, I), W (D, 3H, I), R (D, 3H, H) and perhaps B (D, 6H), sequence_lens (B), initial_h (D, B, H);
            gates in the order z (which keeps the old state), r, candidate.
        linear_before_reset: reset after the recurrent product.
    """
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    helper, kinds = onnx.helper, {"sequence_lens": onnx.TensorProto.INT32}
    node = helper.make_node(
        "GRU",
        [name if name in inputs else "" for name in ("X", "W", "R", "B", "sequence_lens", "initial_h")],
        ["Y", "Y_h"],
        direction="bidirectional" if len(inputs["W"]) == 2 else "forward",
        hidden_size=hidden_size,
        linear_before_reset=int(linear_before_reset),
    )
    values = [
        helper.make_tensor_value_info(name, kinds.get(name, onnx.TensorProto.FLOAT), value.shape)
        for name, value in inputs.items()
    ]
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("Y", "Y_h")]
    proto = helper.make_model(
        helper.make_graph([node], "gru", values, outputs), opset_imports=[helper.make_opsetid("", 17)]
    )
    proto.ir_version = min(proto.ir_version, 10)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    states, last = session.run(None, inputs)
    return states, last
