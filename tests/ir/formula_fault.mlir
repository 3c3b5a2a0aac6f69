// A formula's faults have line and column.
// run: ! tiga-opt -e 'h = tanh(node.x); out = sum(src(h) * edge.w[3])'
// out:
// <formula>:1:44: index: axis 1 is out of range for edge values edge.w of dtype float32 and shape ()
