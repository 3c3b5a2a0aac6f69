// A set's extent as a dimension of a dense value; names that are no identifiers.
// run: tiga-opt --verify %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @rows(%x: tensor<?x4xf32, #gf.rows<@V>> {gf.name = "x \22odd\22"}) -> (tensor<?x4xf32, #gf.rows<@V>> {gf.name = "out"}, tensor<?x?xf32, #gf.rows<[@V, @V]>>) {
    %0 = "gf_tensor.permute"(%x) <{axes = array<i64: 1, 0>}> : (tensor<?x4xf32, #gf.rows<@V>>) -> tensor<4x?xf32, #gf.rows<@V>>
    %1 = "gf_tensor.matmul"(%x, %0) : (tensor<?x4xf32, #gf.rows<@V>>, tensor<4x?xf32, #gf.rows<@V>>) -> tensor<?x?xf32, #gf.rows<[@V, @V]>>
    %2 = "gf_mp.enter"(%x) : (tensor<?x4xf32, #gf.rows<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
    %3 = "gf_tensor.exp"(%2) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
    %4 = "gf_mp.leave"(%3) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.rows<@V>>
    return %4, %1 : tensor<?x4xf32, #gf.rows<@V>>, tensor<?x?xf32, #gf.rows<[@V, @V]>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @rows(%arg0: tensor<?x4xf32, #gf.rows<@V>> {gf.name = "x \22odd\22"}) -> (tensor<?x4xf32, #gf.rows<@V>> {gf.name = "out"}, tensor<?x?xf32, #gf.rows<[@V, @V]>>) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x4xf32, #gf.rows<@V>>) -> tensor<?x4xf32, #gf.rows<@V>>
//     %1 = "gf_tensor.permute"(%0) <{axes = array<i64: 1, 0>}> : (tensor<?x4xf32, #gf.rows<@V>>) -> tensor<4x?xf32, #gf.rows<@V>>
//     %2 = "gf_tensor.matmul"(%0, %1) : (tensor<?x4xf32, #gf.rows<@V>>, tensor<4x?xf32, #gf.rows<@V>>) -> tensor<?x?xf32, #gf.rows<[@V, @V]>>
//     %3 = "gf_mp.enter"(%0) : (tensor<?x4xf32, #gf.rows<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
//     %4 = "gf_tensor.exp"(%3) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.on<@V>>
//     %5 = "gf_mp.leave"(%4) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xf32, #gf.rows<@V>>
//     return %5, %2 : tensor<?x4xf32, #gf.rows<@V>>, tensor<?x?xf32, #gf.rows<[@V, @V]>>
//   }
// }
