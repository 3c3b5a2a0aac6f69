// Several results: a part is written %3#1, and the operation is printed once.
// run: tiga-opt --verify %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @attention(%s: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.score"}, %v: tensor<?x4xf32, #gf.on<@r.edges>> {gf.name = "edge.v"}) -> (tensor<?x4xf32, #gf.on<@V>> {gf.name = "out"}, tensor<?x1xf32, #gf.on<@V>> {gf.name = "max"}) {
    %0 = "gf_tensor.reshape"(%s) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x1xf32, #gf.on<@r.edges>>
    %1:3 = "gf_mp.softmax"(%0, %v) <{map = @r::@dst}> : (tensor<?x1xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> (tensor<?x4xf32, #gf.on<@V>>, tensor<?x1xf32, #gf.on<@V>>, tensor<?x1xf32, #gf.on<@V>>)
    return %1#0, %1#1 : tensor<?x4xf32, #gf.on<@V>>, tensor<?x1xf32, #gf.on<@V>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @attention(%arg0: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.score"}, %arg1: tensor<?x4xf32, #gf.on<@r.edges>> {gf.name = "edge.v"}) -> (tensor<?x4xf32, #gf.on<@V>> {gf.name = "out"}, tensor<?x1xf32, #gf.on<@V>> {gf.name = "max"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %1 = "gf_tensor.reshape"(%0) <{shape = array<i64: 1>}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x1xf32, #gf.on<@r.edges>>
//     %2 = "gf_tensor.input"(%arg1) : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %3:3 = "gf_mp.softmax"(%1, %2) <{map = @r::@dst}> : (tensor<?x1xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> (tensor<?x4xf32, #gf.on<@V>>, tensor<?x1xf32, #gf.on<@V>>, tensor<?x1xf32, #gf.on<@V>>)
//     return %3#0, %3#1 : tensor<?x4xf32, #gf.on<@V>>, tensor<?x1xf32, #gf.on<@V>>
//   }
// }
