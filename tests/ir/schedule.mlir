// A schedule that is asked for, where the kernel can have it.
// run: env TIGA_SCHEDULE=edge-tiles,feature-lanes tiga-opt --verify --stage=kernel %s
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
//   func.func @weighted_sum(%arg0: tensor<?x4xf32, #gf.on<@V>> {gf.name = "src.x"}, %arg1: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.w"}) -> (tensor<?x4xf32, #gf.on<@V>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %2 = "gf_iter.traverse"(%0, %1) <{inputs = ["src.x", "edge.w"], map = @r::@dst, name = "feature-lanes", phases = array<i64: 0>, results = ["out"]}> ({
//     ^bb0(%arg2: tensor<?x4xf32, #gf.on<@V>>, %arg3: tensor<?xf32, #gf.on<@r.edges>>):
//       %3 = "gf_mp.gather"(%arg2) <{map = @r::@src}> : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %4 = "gf_tensor.reshape"(%arg3) <{shape = array<i64: 1>}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x1xf32, #gf.on<@r.edges>>
//       %5 = "gf_tensor.broadcast"(%4) <{shape = array<i64: 4>}> : (tensor<?x1xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %6 = "gf_tensor.mul"(%5, %3) : (tensor<?x4xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//       %7 = "gf_mp.reduce"(%6) <{map = @r::@dst}> : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
//       "gf_ctl.yield"(%7) : (tensor<?x4xf32, #gf.on<@V>>) -> ()
//     }) : (tensor<?x4xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
//     return %2 : tensor<?x4xf32, #gf.on<@V>>
//   }
// }
