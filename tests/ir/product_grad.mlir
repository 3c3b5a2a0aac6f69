// The gradient of a product: the products before each edge, then those behind, in a row's second phase.
// run: tiga-opt --verify --grad=out:src.x --pass=prepare %s
module {
  "gf.set"() <{sym_name = "U"}> : () -> ()
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @U, sym_name = "r"}> : () -> ()
  func.func @product(%x: tensor<?xf32, #gf.on<@U>> {gf.name = "src.x"}) -> (tensor<?xf32, #gf.on<@V>> {gf.name = "out"}) {
    %m = "gf_mp.gather"(%x) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@U>>) -> tensor<?xf32, #gf.on<@r.edges>>
    %one = "gf_tensor.constant"() <{value = 1.0 : f32}> : () -> tensor<?xf32, #gf.on<@V>>
    %p = "gf_mp.row_scan"(%one, %m) <{map = @r::@dst, states = 1 : i64}> ({
    ^bb0(%s: tensor<f32>, %e: tensor<f32>):
      %y = "gf_tensor.mul"(%s, %e) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "gf_ctl.yield"(%y) : (tensor<f32>) -> ()
    }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@V>>
    return %p : tensor<?xf32, #gf.on<@V>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "U"}> : () -> ()
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @U, sym_name = "r"}> : () -> ()
//   func.func @product(%arg0: tensor<?xf32, #gf.on<@U>> {gf.name = "src.x"}, %arg1: tensor<?xf32, #gf.on<@V>> {gf.name = "cot.out"}) -> (tensor<?xf32, #gf.on<@V>> {gf.name = "out"}, tensor<?xf32, #gf.on<@U>> {gf.name = "grad.src.x"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?xf32, #gf.on<@U>>) -> tensor<?xf32, #gf.on<@U>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?xf32, #gf.on<@V>>) -> tensor<?xf32, #gf.on<@V>>
//     %2 = "gf_tensor.constant"() <{value = 1.000000e+00 : f32}> : () -> tensor<?xf32, #gf.on<@V>>
//     %3 = "gf_mp.gather"(%0) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@U>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %4 = "gf_mp.row_scan"(%2, %3) <{map = @r::@dst, order = "forward", states = 1 : i64}> ({
//     ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
//       %8 = "gf_tensor.mul"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       "gf_ctl.yield"(%8) : (tensor<f32>) -> ()
//     }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@V>>
//     %5:2 = "gf_mp.row_scan"(%2, %3) <{map = @r::@dst, order = "forward", states = 1 : i64}> ({
//     ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
//       %8 = "gf_tensor.mul"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       "gf_ctl.yield"(%8, %arg2) : (tensor<f32>, tensor<f32>) -> ()
//     }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>)
//     %6:2 = "gf_mp.row_scan"(%1, %5#1, %3) <{map = @r::@dst, order = "reverse", states = 1 : i64}> ({
//     ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>):
//       %8 = "gf_tensor.mul"(%arg4, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %9 = "gf_tensor.mul"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       "gf_ctl.yield"(%8, %9) : (tensor<f32>, tensor<f32>) -> ()
//     }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>)
//     %7 = "gf_mp.reduce"(%6#1) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@U>>
//     return %4, %7 : tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@U>>
//   }
// }
