// A product with a concatenation becomes one for each part, and the gathered part's goes to its nodes.
// run: tiga-opt --verify --pass=move,hoist %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @concat(%x: tensor<?x1x8xf32, #gf.on<@V>> {gf.name = "node.x"}, %e: tensor<?x1x3xf32, #gf.on<@r.edges>> {gf.name = "edge.e"}, %w: tensor<11x16xf32> {gf.name = "W"}) -> (tensor<?x1x16xf32, #gf.on<@r.edges>> {gf.name = "out"}) {
    %s = "gf_mp.gather"(%x) <{map = @r::@src}> : (tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@r.edges>>
    %c = "gf_tensor.concat"(%s, %e) <{axis = 1 : i64}> : (tensor<?x1x8xf32, #gf.on<@r.edges>>, tensor<?x1x3xf32, #gf.on<@r.edges>>) -> tensor<?x1x11xf32, #gf.on<@r.edges>>
    %p = "gf_mp.gather"(%w) <{map = @r.edges::@all}> : (tensor<11x16xf32>) -> tensor<?x11x16xf32, #gf.on<@r.edges>>
    %z = "gf_tensor.matmul"(%c, %p) : (tensor<?x1x11xf32, #gf.on<@r.edges>>, tensor<?x11x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
    return %z : tensor<?x1x16xf32, #gf.on<@r.edges>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @concat(%arg0: tensor<?x1x8xf32, #gf.on<@V>> {gf.name = "node.x"}, %arg1: tensor<?x1x3xf32, #gf.on<@r.edges>> {gf.name = "edge.e"}, %arg2: tensor<11x16xf32> {gf.name = "W"}) -> (tensor<?x1x16xf32, #gf.on<@r.edges>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?x1x3xf32, #gf.on<@r.edges>>) -> tensor<?x1x3xf32, #gf.on<@r.edges>>
//     %2 = "gf_tensor.input"(%arg2) : (tensor<11x16xf32>) -> tensor<11x16xf32>
//     %3 = "gf_tensor.slice"(%2) <{count = array<i64: 3, 16>, start = array<i64: 8, 0>, step = array<i64: 1, 1>}> : (tensor<11x16xf32>) -> tensor<3x16xf32>
//     %4 = "gf_mp.gather"(%3) <{map = @r.edges::@all}> : (tensor<3x16xf32>) -> tensor<?x3x16xf32, #gf.on<@r.edges>>
//     %5 = "gf_tensor.matmul"(%1, %4) : (tensor<?x1x3xf32, #gf.on<@r.edges>>, tensor<?x3x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
//     %6 = "gf_tensor.slice"(%2) <{count = array<i64: 8, 16>, start = array<i64: 0, 0>, step = array<i64: 1, 1>}> : (tensor<11x16xf32>) -> tensor<8x16xf32>
//     %7 = "gf_mp.gather"(%6) <{map = @V::@all}> : (tensor<8x16xf32>) -> tensor<?x8x16xf32, #gf.on<@V>>
//     %8 = "gf_tensor.matmul"(%0, %7) : (tensor<?x1x8xf32, #gf.on<@V>>, tensor<?x8x16xf32, #gf.on<@V>>) -> tensor<?x1x16xf32, #gf.on<@V>>
//     %9 = "gf_mp.gather"(%8) <{map = @r::@src}> : (tensor<?x1x16xf32, #gf.on<@V>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
//     %10 = "gf_tensor.add"(%5, %9) : (tensor<?x1x16xf32, #gf.on<@r.edges>>, tensor<?x1x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
//     return %10 : tensor<?x1x16xf32, #gf.on<@r.edges>>
//   }
// }
