// Kernels stand before the function that launches them.
// run: tiga-opt --verify --stage=task %s
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
//   func.func @k0(%arg0: tensor<?x4xf32, #gf.on<@V>> {gf.name = "src.x"}, %arg1: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.w"}) -> (tensor<?x4xf32, #gf.on<@V>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
//     %1 = "gf_mp.gather"(%0) <{map = @r::@src}> : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %2 = "gf_tensor.input"(%arg1) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %3 = "gf_tensor.reshape"(%2) <{shape = array<i64: 1>}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x1xf32, #gf.on<@r.edges>>
//     %4 = "gf_tensor.broadcast"(%3) <{shape = array<i64: 4>}> : (tensor<?x1xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %5 = "gf_tensor.mul"(%4, %1) : (tensor<?x4xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %6 = "gf_mp.reduce"(%5) <{map = @r::@dst}> : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
//     return %6 : tensor<?x4xf32, #gf.on<@V>>
//   }
//   func.func @weighted_sum(%arg0: tensor<?x4xf32, #gf.on<@V>> {gf.name = "src.x"}, %arg1: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.w"}) -> (tensor<?x4xf32, #gf.on<@V>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %2 = "gf_kernel.launch"(%0, %1) <{kernel = @k0, map = @r::@dst}> : (tensor<?x4xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
//     return %2 : tensor<?x4xf32, #gf.on<@V>>
//   }
// }
