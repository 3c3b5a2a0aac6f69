// A state that nothing asks for is not folded; what the part that is merged gives counts (order = "tree").
// run: tiga-opt --verify -e 'q.identity = 1, 0, 0; q.lift(m) = m, m * m, 1; q.combine(a, b) = a[0] * b[0] - a[0], a[1] * a[1] + b[0], a[2] * b[1] + a[0]; q.finalize(s) = s[1]; q.associative = true; out = q(src.x)' --in=src.x=f32 --pass=clean
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.set"() <{sym_name = "U"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @U, sym_name = "r"}> : () -> ()
//   func.func @main(%arg0: tensor<?xf32, #gf.on<@U>> {gf.name = "src.x"}) -> (tensor<?xf32, #gf.on<@V>> {gf.name = "out"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?xf32, #gf.on<@U>>) -> tensor<?xf32, #gf.on<@U>>
//     %1 = "gf_tensor.constant"() <{value = 1.000000e+00 : f32}> : () -> tensor<?xf32, #gf.on<@V>>
//     %2 = "gf_tensor.constant"() <{value = 0.000000e+00 : f32}> : () -> tensor<?xf32, #gf.on<@V>>
//     %3 = "gf_mp.gather"(%0) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@U>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %4 = "gf_tensor.mul"(%3, %3) : (tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %5:2 = "gf_mp.row_scan"(%1, %2, %3, %4) <{map = @r::@dst, order = "tree", states = 2 : i64}> ({
//     ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>):
//       %6 = "gf_tensor.mul"(%arg3, %arg1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %7 = "gf_tensor.sub"(%6, %arg1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %8 = "gf_tensor.mul"(%arg2, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %9 = "gf_tensor.add"(%arg3, %8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       "gf_ctl.yield"(%7, %9) : (tensor<f32>, tensor<f32>) -> ()
//     }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>)
//     return %5#1 : tensor<?xf32, #gf.on<@V>>
//   }
// }
