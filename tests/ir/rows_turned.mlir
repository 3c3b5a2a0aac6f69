// Axes of dense rows change places, the rows' own among them: on the set the others do.
// run: tiga-opt --pass=rows,clean --verify %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @turned(%x: tensor<?x3x4x5xf32, #gf.on<@V>> {gf.name = "x"}) -> (tensor<?x3x5x4xf32, #gf.rows<@V>> {gf.name = "out"}) {
    %0 = "gf_tensor.exp"(%x) : (tensor<?x3x4x5xf32, #gf.on<@V>>) -> tensor<?x3x4x5xf32, #gf.on<@V>>
    %1 = "gf_mp.leave"(%0) : (tensor<?x3x4x5xf32, #gf.on<@V>>) -> tensor<?x3x4x5xf32, #gf.rows<@V>>
    %2 = "gf_tensor.permute"(%1) <{axes = array<i64: 3, 1, 0, 2>}> : (tensor<?x3x4x5xf32, #gf.rows<@V>>) -> tensor<5x3x?x4xf32, #gf.rows<@V>>
    %3 = "gf_tensor.tanh"(%2) : (tensor<5x3x?x4xf32, #gf.rows<@V>>) -> tensor<5x3x?x4xf32, #gf.rows<@V>>
    %4 = "gf_tensor.permute"(%3) <{axes = array<i64: 2, 1, 0, 3>}> : (tensor<5x3x?x4xf32, #gf.rows<@V>>) -> tensor<?x3x5x4xf32, #gf.rows<@V>>
    return %4 : tensor<?x3x5x4xf32, #gf.rows<@V>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @turned(%arg0: tensor<?x3x4x5xf32, #gf.on<@V>> {gf.name = "x"}) -> (tensor<?x3x5x4xf32, #gf.rows<@V>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x3x4x5xf32, #gf.on<@V>>) -> tensor<?x3x4x5xf32, #gf.on<@V>>
//     %1 = "gf_tensor.exp"(%0) : (tensor<?x3x4x5xf32, #gf.on<@V>>) -> tensor<?x3x4x5xf32, #gf.on<@V>>
//     %2 = "gf_tensor.permute"(%1) <{axes = array<i64: 2, 0, 1>}> : (tensor<?x3x4x5xf32, #gf.on<@V>>) -> tensor<?x5x3x4xf32, #gf.on<@V>>
//     %3 = "gf_tensor.tanh"(%2) : (tensor<?x5x3x4xf32, #gf.on<@V>>) -> tensor<?x5x3x4xf32, #gf.on<@V>>
//     %4 = "gf_tensor.permute"(%3) <{axes = array<i64: 1, 0, 2>}> : (tensor<?x5x3x4xf32, #gf.on<@V>>) -> tensor<?x3x5x4xf32, #gf.on<@V>>
//     %5 = "gf_mp.leave"(%4) : (tensor<?x3x5x4xf32, #gf.on<@V>>) -> tensor<?x3x5x4xf32, #gf.rows<@V>>
//     return %5 : tensor<?x3x5x4xf32, #gf.rows<@V>>
//   }
// }
