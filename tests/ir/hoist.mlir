// A product with weights and a tanh go before the gather; what takes both ends stays.
// run: tiga-opt --verify --pass=hoist %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @hoist(%x: tensor<?x1x8xf32, #gf.on<@V>> {gf.name = "node.x"}, %w: tensor<8x16xf32> {gf.name = "W"}) -> (tensor<?x1x16xf32, #gf.on<@V>> {gf.name = "out"}) {
    %s = "gf_mp.gather"(%x) <{map = @r::@src}> : (tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@r.edges>>
    %d = "gf_mp.gather"(%x) <{map = @r::@dst}> : (tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@r.edges>>
    %p = "gf_mp.gather"(%w) <{map = @r.edges::@all}> : (tensor<8x16xf32>) -> tensor<?x8x16xf32, #gf.on<@r.edges>>
    %a = "gf_tensor.matmul"(%s, %p) : (tensor<?x1x8xf32, #gf.on<@r.edges>>, tensor<?x8x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
    %t = "gf_tensor.tanh"(%a) : (tensor<?x1x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
    %b = "gf_tensor.matmul"(%d, %p) : (tensor<?x1x8xf32, #gf.on<@r.edges>>, tensor<?x8x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
    %m = "gf_tensor.mul"(%t, %b) : (tensor<?x1x16xf32, #gf.on<@r.edges>>, tensor<?x1x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
    %y = "gf_mp.reduce"(%m) <{map = @r::@dst}> : (tensor<?x1x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@V>>
    return %y : tensor<?x1x16xf32, #gf.on<@V>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @hoist(%arg0: tensor<?x1x8xf32, #gf.on<@V>> {gf.name = "node.x"}, %arg1: tensor<8x16xf32> {gf.name = "W"}) -> (tensor<?x1x16xf32, #gf.on<@V>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<8x16xf32>) -> tensor<8x16xf32>
//     %2 = "gf_mp.gather"(%1) <{map = @V::@all}> : (tensor<8x16xf32>) -> tensor<?x8x16xf32, #gf.on<@V>>
//     %3 = "gf_tensor.matmul"(%0, %2) : (tensor<?x1x8xf32, #gf.on<@V>>, tensor<?x8x16xf32, #gf.on<@V>>) -> tensor<?x1x16xf32, #gf.on<@V>>
//     %4 = "gf_tensor.tanh"(%3) : (tensor<?x1x16xf32, #gf.on<@V>>) -> tensor<?x1x16xf32, #gf.on<@V>>
//     %5 = "gf_mp.gather"(%4) <{map = @r::@src}> : (tensor<?x1x16xf32, #gf.on<@V>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
//     %6 = "gf_mp.gather"(%3) <{map = @r::@dst}> : (tensor<?x1x16xf32, #gf.on<@V>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
//     %7 = "gf_tensor.mul"(%5, %6) : (tensor<?x1x16xf32, #gf.on<@r.edges>>, tensor<?x1x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
//     %8 = "gf_mp.reduce"(%7) <{map = @r::@dst}> : (tensor<?x1x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@V>>
//     return %8 : tensor<?x1x16xf32, #gf.on<@V>>
//   }
// }
