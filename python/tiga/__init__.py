"""Tiga: differentiable message passing, compiled.

class WeightedSum(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.weight * src.x

out = WeightedSum()(graph=graph, src={"x": x}, dst={}, edge={"weight": weight})"""

from . import autograd, interop, later
from .dtypes import DType, bfloat16, bool_, float16, float32, float64, int32, int64
from .errors import AlgebraWarning, TigaBug
from .formula import Formula, formula
from .functions import (
    abs,
    broadcast_to,
    cast,
    cat,
    ceil,
    clamp,
    conj,
    cos,
    cumsum,
    elu,
    erf,
    exp,
    expm1,
    flatten,
    floor,
    gather,
    gelu,
    imag,
    isfinite,
    isnan,
    leaky_relu,
    linear,
    log,
    log1p,
    log_softmax,
    matmul,
    maximum,
    minimum,
    neg,
    norm,
    permute,
    pow,
    real,
    reciprocal,
    relu,
    reshape,
    round,
    rsqrt,
    sigmoid,
    sign,
    silu,
    sin,
    softmax,
    softplus,
    sqrt,
    square,
    squeeze,
    stack,
    take,
    tanh,
    transpose,
    unsqueeze,
    where,
)
from .graph import Graph
from .inspection import AnalysisFinding, CacheInfo, Cost, MachineSchedule, Variant
from .message_passing import MessagePassing
from .multi import multi
from .reducers import (
    Reducer,
    ReducerCall,
    argmax,
    argmin,
    count,
    logsumexp,
    max,
    mean,
    median,
    min,
    online_softmax,
    prod,
    quantile,
    std,
    sum,
    var,
)
from .reducers import (
    all_ as all,
)
from .reducers import (
    any_ as any,
)
from .tensors import (
    Tensor,
    arange,
    empty,
    from_dlpack,
    from_numpy,
    from_torch,
    full,
    ones,
    ones_like,
    tensor,
    to_numpy,
    to_torch,
    zeros,
    zeros_like,
)
from .threads import get_num_threads, memory, set_num_threads, trim

__version__ = "0.1.0"

bool = bool_

later.add_methods(Graph, "Graph")
__getattr__ = later.attribute("tg", __name__)
