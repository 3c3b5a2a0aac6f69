// What a scan gives at the edges asks for no state: the first stays, with those that it depends on.
// run: tiga-opt --verify --pass=clean %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.set"() <{sym_name = "U"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @U, sym_name = "r"}> : () -> ()
  func.func @main(%arg0: tensor<?xf32, #gf.on<@V>> {gf.name = "dst.s"}, %arg1: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.x"}) -> (tensor<?xf32, #gf.on<@U>> {gf.name = "out"}) {
    %0 = "gf_tensor.input"(%arg0) : (tensor<?xf32, #gf.on<@V>>) -> tensor<?xf32, #gf.on<@V>>
    %1 = "gf_tensor.input"(%arg1) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
    %2:6 = "gf_mp.row_scan"(%0, %0, %0, %0, %1) <{map = @r::@dst, order = "forward", states = 4 : i64}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>):
      %4 = "gf_tensor.mul"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %5 = "gf_tensor.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %6 = "gf_tensor.mul"(%arg6, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "gf_ctl.yield"(%4, %5, %arg4, %arg5, %6, %4) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> ()
    }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>)
    %3 = "gf_mp.reduce"(%2#4) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@U>>
    return %3 : tensor<?xf32, #gf.on<@U>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.set"() <{sym_name = "U"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @U, sym_name = "r"}> : () -> ()
//   func.func @main(%arg0: tensor<?xf32, #gf.on<@V>> {gf.name = "dst.s"}, %arg1: tensor<?xf32, #gf.on<@r.edges>> {gf.name = "edge.x"}) -> (tensor<?xf32, #gf.on<@U>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?xf32, #gf.on<@V>>) -> tensor<?xf32, #gf.on<@V>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %2:4 = "gf_mp.row_scan"(%0, %0, %0, %1) <{map = @r::@dst, order = "forward", states = 3 : i64}> ({
//     ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<f32>):
//       %4 = "gf_tensor.mul"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %5 = "gf_tensor.add"(%arg4, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %6 = "gf_tensor.mul"(%arg5, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       "gf_ctl.yield"(%4, %5, %arg4, %6) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> ()
//     }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>)
//     %3 = "gf_mp.reduce"(%2#3) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@U>>
//     return %3 : tensor<?xf32, #gf.on<@U>>
//   }
// }
