// A product with weights, a bias and a factor of the row leave the sum; empty rows are guarded.
// run: tiga-opt --verify --pass=move %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @move(%h: tensor<?x1x16xf32, #gf.on<@r.edges>> {gf.name = "edge.h"}, %w: tensor<16x8xf32> {gf.name = "W"}, %b: tensor<1x8xf32> {gf.name = "b"}, %c: tensor<?x1x8xf32, #gf.on<@V>> {gf.name = "dst.c"}) -> (tensor<?x1x8xf32, #gf.on<@V>> {gf.name = "out"}) {
    %ws = "gf_mp.gather"(%w) <{map = @r.edges::@all}> : (tensor<16x8xf32>) -> tensor<?x16x8xf32, #gf.on<@r.edges>>
    %bs = "gf_mp.gather"(%b) <{map = @r.edges::@all}> : (tensor<1x8xf32>) -> tensor<?x1x8xf32, #gf.on<@r.edges>>
    %cs = "gf_mp.gather"(%c) <{map = @r::@dst}> : (tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@r.edges>>
    %p = "gf_tensor.matmul"(%h, %ws) : (tensor<?x1x16xf32, #gf.on<@r.edges>>, tensor<?x16x8xf32, #gf.on<@r.edges>>) -> tensor<?x1x8xf32, #gf.on<@r.edges>>
    %q = "gf_tensor.add"(%p, %bs) : (tensor<?x1x8xf32, #gf.on<@r.edges>>, tensor<?x1x8xf32, #gf.on<@r.edges>>) -> tensor<?x1x8xf32, #gf.on<@r.edges>>
    %m = "gf_tensor.mul"(%q, %cs) : (tensor<?x1x8xf32, #gf.on<@r.edges>>, tensor<?x1x8xf32, #gf.on<@r.edges>>) -> tensor<?x1x8xf32, #gf.on<@r.edges>>
    %y = "gf_mp.reduce"(%m) <{map = @r::@dst}> : (tensor<?x1x8xf32, #gf.on<@r.edges>>) -> tensor<?x1x8xf32, #gf.on<@V>>
    return %y : tensor<?x1x8xf32, #gf.on<@V>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @move(%arg0: tensor<?x1x16xf32, #gf.on<@r.edges>> {gf.name = "edge.h"}, %arg1: tensor<16x8xf32> {gf.name = "W"}, %arg2: tensor<1x8xf32> {gf.name = "b"}, %arg3: tensor<?x1x8xf32, #gf.on<@V>> {gf.name = "dst.c"}) -> (tensor<?x1x8xf32, #gf.on<@V>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x1x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@r.edges>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<16x8xf32>) -> tensor<16x8xf32>
//     %2 = "gf_tensor.input"(%arg2) : (tensor<1x8xf32>) -> tensor<1x8xf32>
//     %3 = "gf_tensor.input"(%arg3) : (tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %4 = "gf_mp.degree"() <{map = @r::@dst}> : () -> tensor<?xi64, #gf.on<@V>>
//     %5 = "gf_tensor.constant"() <{value = 0 : i64}> : () -> tensor<?xi64, #gf.on<@V>>
//     %6 = "gf_tensor.eq"(%4, %5) : (tensor<?xi64, #gf.on<@V>>, tensor<?xi64, #gf.on<@V>>) -> tensor<?xi1, #gf.on<@V>>
//     %7 = "gf_tensor.broadcast"(%6) <{shape = array<i64: 1, 8>}> : (tensor<?xi1, #gf.on<@V>>) -> tensor<?x1x8xi1, #gf.on<@V>>
//     %8 = "gf_tensor.constant"() <{value = 0.000000e+00 : f32}> : () -> tensor<?x1x8xf32, #gf.on<@V>>
//     %9 = "gf_mp.reduce"(%0) <{map = @r::@dst}> : (tensor<?x1x16xf32, #gf.on<@r.edges>>) -> tensor<?x1x16xf32, #gf.on<@V>>
//     %10 = "gf_mp.gather"(%1) <{map = @V::@all}> : (tensor<16x8xf32>) -> tensor<?x16x8xf32, #gf.on<@V>>
//     %11 = "gf_tensor.matmul"(%9, %10) : (tensor<?x1x16xf32, #gf.on<@V>>, tensor<?x16x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %12 = "gf_mp.gather"(%2) <{map = @V::@all}> : (tensor<1x8xf32>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %13 = "gf_tensor.cast"(%4) : (tensor<?xi64, #gf.on<@V>>) -> tensor<?xf32, #gf.on<@V>>
//     %14 = "gf_tensor.broadcast"(%13) <{shape = array<i64: 1, 8>}> : (tensor<?xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %15 = "gf_tensor.mul"(%12, %14) : (tensor<?x1x8xf32, #gf.on<@V>>, tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %16 = "gf_tensor.add"(%11, %15) : (tensor<?x1x8xf32, #gf.on<@V>>, tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %17 = "gf_tensor.mul"(%16, %3) : (tensor<?x1x8xf32, #gf.on<@V>>, tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     %18 = "gf_tensor.where"(%7, %8, %17) : (tensor<?x1x8xi1, #gf.on<@V>>, tensor<?x1x8xf32, #gf.on<@V>>, tensor<?x1x8xf32, #gf.on<@V>>) -> tensor<?x1x8xf32, #gf.on<@V>>
//     return %18 : tensor<?x1x8xf32, #gf.on<@V>>
//   }
// }
