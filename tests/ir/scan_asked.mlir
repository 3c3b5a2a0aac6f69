// Nothing asks for a count's cotangent, so the reversed scan has one state.
// run: tiga-opt --verify -e 'q.identity = 0, 0; q.lift(m) = 1, m; q.combine(a, b) = (n = a[0] + b[0], n, a[1] + (b[1] - a[1]) * b[0] / n); q.finalize(s) = s[1]; out = q(src.x)' --in=src.x=f32 --grad=out:src.x --pass=clean
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.set"() <{sym_name = "U"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @U, sym_name = "r"}> : () -> ()
//   func.func @main(%arg0: tensor<?xf32, #gf.on<@U>> {gf.name = "src.x"}, %arg1: tensor<?xf32, #gf.on<@V>> {gf.name = "cot.out"}) -> (tensor<?xf32, #gf.on<@V>> {gf.name = "out"}, tensor<?xf32, #gf.on<@U>> {gf.name = "grad.src.x"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?xf32, #gf.on<@U>>) -> tensor<?xf32, #gf.on<@U>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?xf32, #gf.on<@V>>) -> tensor<?xf32, #gf.on<@V>>
//     %2 = "gf_tensor.constant"() <{value = 0.000000e+00 : f32}> : () -> tensor<?xf32, #gf.on<@V>>
//     %3 = "gf_tensor.constant"() <{value = 1.000000e+00 : f32}> : () -> tensor<?xf32, #gf.on<@r.edges>>
//     %4 = "gf_mp.gather"(%0) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@U>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %5:2 = "gf_mp.row_scan"(%2, %2, %3, %4) <{map = @r::@dst, order = "forward", states = 2 : i64}> ({
//     ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<f32>):
//       %9 = "gf_tensor.add"(%arg4, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %10 = "gf_tensor.sub"(%arg5, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %11 = "gf_tensor.mul"(%10, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %12 = "gf_tensor.div"(%11, %9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %13 = "gf_tensor.add"(%12, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       "gf_ctl.yield"(%9, %13) : (tensor<f32>, tensor<f32>) -> ()
//     }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>)
//     %6:4 = "gf_mp.row_scan"(%2, %2, %3, %4) <{map = @r::@dst, order = "forward", states = 2 : i64}> ({
//     ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<f32>):
//       %9 = "gf_tensor.add"(%arg4, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %10 = "gf_tensor.sub"(%arg5, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %11 = "gf_tensor.mul"(%10, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %12 = "gf_tensor.div"(%11, %9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %13 = "gf_tensor.add"(%12, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       "gf_ctl.yield"(%9, %13, %arg2, %arg3) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> ()
//     }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>)
//     %7:2 = "gf_mp.row_scan"(%1, %6#2, %3) <{map = @r::@dst, order = "reverse", states = 1 : i64}> ({
//     ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>):
//       %9 = "gf_tensor.add"(%arg4, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %10 = "gf_tensor.div"(%arg2, %9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %11 = "gf_tensor.mul"(%arg4, %10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       %12 = "gf_tensor.neg"(%11) : (tensor<f32>) -> tensor<f32>
//       %13 = "gf_tensor.add"(%arg2, %12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//       "gf_ctl.yield"(%13, %11) : (tensor<f32>, tensor<f32>) -> ()
//     }) : (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>, tensor<?xf32, #gf.on<@r.edges>>) -> (tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@r.edges>>)
//     %8 = "gf_mp.reduce"(%7#1) <{map = @r::@src}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@U>>
//     return %5#1, %8 : tensor<?xf32, #gf.on<@V>>, tensor<?xf32, #gf.on<@U>>
//   }
// }
