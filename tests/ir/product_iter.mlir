// Its kernel: what the scans give is added to the sources by blocks of rows.
// run: tiga-opt --verify --grad=out:src.x --pass=prepare --stage=iter %s
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
//     %2:2 = "gf_iter.traverse"(%0, %1) <{inputs = ["src.x", "cot.out"], map = @r::@dst, phases = array<i64: 0, 0, 1, 1>, results = ["out", "grad.src.x"]}> ({
//     ^bb0(%arg2: tensor<?xf32, #gf.on<@U>>, %arg3: tensor<?xf32, #gf.on<@V>>):
//       %3 = "gf_mp.gather"(%arg2) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@U>>) -> tensor<?xf32, #gf.on<@r.edges>>
//       %4 = "gf_tensor.constant"() <{value = 1.000000e+00 : f32}> : () -> tensor<?xf32, #gf.on<@V>>
//       %5 = "gf_mp.row_scan"(%4, %3) <{map = @r::@dst, order = "forward", states = 1 : i64}> ({
//       ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
//         %9 = "gf_tensor.mul"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//         "gf_ctl.yield"(%9) : (tensor<f32>) -> ()
//       }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@V>>
//       %6:2 = "gf_mp.row_scan"(%4, %3) <{map = @r::@dst, order = "forward", states = 1 : i64}> ({
//       ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
//         %9 = "gf_tensor.mul"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//         "gf_ctl.yield"(%9, %arg4) : (tensor<f32>, tensor<f32>) -> ()
//       }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>)
//       %7:2 = "gf_mp.row_scan"(%arg3, %6#1, %3) <{map = @r::@dst, order = "reverse", states = 1 : i64}> ({
//       ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>):
//         %9 = "gf_tensor.mul"(%arg6, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//         %10 = "gf_tensor.mul"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//         "gf_ctl.yield"(%9, %10) : (tensor<f32>, tensor<f32>) -> ()
//       }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>)
//       %8 = "gf_mp.reduce"(%7#1) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@U>>
//       "gf_ctl.yield"(%5, %8) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@U>>) -> ()
//     }) : (tensor<?xf32, #gf.on<@U>>, tensor<?xf32, #gf.on<@V>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@U>>)
//     return %2#0, %2#1 : tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@U>>
//   }
// }
