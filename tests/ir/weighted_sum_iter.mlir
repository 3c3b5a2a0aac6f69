// Two traversals: by destination and by source.
// run: tiga-opt --verify --grad=out:src.x,edge.w --stage=iter %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @weighted_sum(%x: tensor<?x4xf32, #gf.on<@V>> {gf.name = "src.x"}, %w: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.w"}) -> (tensor<?x4xf32, #gf.on<@V>> {gf.name = "out"}) {
    %0 = "gf_mp.gather"(%x) <{map = @r::@src}> : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
    %1 = "gf_tensor.reshape"(%w) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x1xf32, #gf.on<@r.edges>>
    %2 = "gf_tensor.broadcast"(%1) : (tensor<?x1xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
    %3 = "gf_tensor.mul"(%0, %2) : (tensor<?x4xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
    %4 = "gf_mp.reduce"(%3) <{map = @r::@dst}> : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
    return %4 : tensor<?x4xf32, #gf.on<@V>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @weighted_sum(%arg0: tensor<?x4xf32, #gf.on<@V>> {gf.name = "src.x"}, %arg1: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.w"}, %arg2: tensor<?x4xf32, #gf.on<@V>> {gf.name = "cot.out"}) -> (tensor<?x4xf32, #gf.on<@V>> {gf.name = "out"}, tensor<?x4xf32, #gf.on<@V>> {gf.name = "grad.src.x"}, tensor<?xf32, #gf.on<@r.edges>> {gf.name = "grad.edge.w"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %2 = "gf_tensor.input"(%arg2) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
//     %3:2 = "gf_iter.traverse"(%0, %1, %2) <{inputs = ["src.x", "edge.w", "cot.out"], map = @r::@dst, phases = array<i64: 0>, results = ["out", "grad.edge.w"]}> ({
//     ^bb0(%arg3: tensor<?x4xf32, #gf.on<@V>>, %arg4: tensor<?xf32, #gf.on<@r.edges>>, %arg5: tensor<?x4xf32, #gf.on<@V>>):
//       %5 = "gf_mp.gather"(%arg3) <{map = @r::@src}> : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %6 = "gf_tensor.reshape"(%arg4) <{shape = array<i64: 1>}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x1xf32, #gf.on<@r.edges>>
//       %7 = "gf_tensor.broadcast"(%6) <{shape = array<i64: 4>}> : (tensor<?x1xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %8 = "gf_tensor.mul"(%7, %5) : (tensor<?x4xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %9 = "gf_mp.reduce"(%8) <{map = @r::@dst}> : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
//       %10 = "gf_mp.gather"(%arg5) <{map = @r::@dst}> : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %11 = "gf_tensor.mul"(%5, %10) : (tensor<?x4xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %12 = "gf_tensor.reduce_sum"(%11) <{axes = array<i64: 0>, keep_dims = false}> : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//       "gf_ctl.yield"(%9, %12) : (tensor<?x4xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> ()
//     }) : (tensor<?x4xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@V>>) -> (tensor<?x4xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>)
//     %4 = "gf_iter.traverse"(%2, %1) <{inputs = ["cot.out", "edge.w"], map = @r::@src, phases = array<i64: 0>, results = ["grad.src.x"]}> ({
//     ^bb0(%arg3: tensor<?x4xf32, #gf.on<@V>>, %arg4: tensor<?xf32, #gf.on<@r.edges>>):
//       %5 = "gf_mp.gather"(%arg3) <{map = @r::@dst}> : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %6 = "gf_tensor.reshape"(%arg4) <{shape = array<i64: 1>}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x1xf32, #gf.on<@r.edges>>
//       %7 = "gf_tensor.broadcast"(%6) <{shape = array<i64: 4>}> : (tensor<?x1xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %8 = "gf_tensor.mul"(%7, %5) : (tensor<?x4xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %9 = "gf_mp.reduce"(%8) <{map = @r::@src}> : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
//       "gf_ctl.yield"(%9) : (tensor<?x4xf32, #gf.on<@V>>) -> ()
//     }) : (tensor<?x4xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
//     return %3#0, %4, %3#1 : tensor<?x4xf32, #gf.on<@V>>, tensor<?x4xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>
//   }
// }
