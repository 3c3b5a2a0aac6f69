// A reducer: four regions, flags, and strings of its own.
// run: tiga-opt --verify %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  "gf.reducer"() <{sym_name = "mean", proof = "additive", associative = true, commutative = true, deterministic = true, lift_inputs = ["m0"], combine_inputs = ["l0", "l1", "r0", "r1"]}> ({
    %zero = "gf_tensor.constant"() <{value = 0.0 : f32}> : () -> tensor<f32>
    "gf_ctl.yield"(%zero, %zero) : (tensor<f32>, tensor<f32>) -> ()
  }, {
  ^bb0(%m: tensor<f32>):
    %one = "gf_tensor.constant"() <{value = 1.0 : f32}> : () -> tensor<f32>
    "gf_ctl.yield"(%m, %one) : (tensor<f32>, tensor<f32>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %0 = "gf_tensor.add"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = "gf_tensor.add"(%b, %d) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "gf_ctl.yield"(%0, %1) : (tensor<f32>, tensor<f32>) -> ()
  }, {
  ^bb0(%s: tensor<f32>, %n: tensor<f32>):
    %0 = "gf_tensor.div"(%s, %n) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "gf_ctl.yield"(%0) : (tensor<f32>) -> ()
  }) : () -> ()
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   "gf.reducer"() <{associative = true, combine_inputs = ["l0", "l1", "r0", "r1"], commutative = true, deterministic = true, lift_inputs = ["m0"], proof = "additive", sym_name = "mean"}> ({
//     %0 = "gf_tensor.constant"() <{value = 0.000000e+00 : f32}> : () -> tensor<f32>
//     "gf_ctl.yield"(%0, %0) : (tensor<f32>, tensor<f32>) -> ()
//   }, {
//   ^bb0(%arg0: tensor<f32>):
//     %0 = "gf_tensor.constant"() <{value = 1.000000e+00 : f32}> : () -> tensor<f32>
//     "gf_ctl.yield"(%arg0, %0) : (tensor<f32>, tensor<f32>) -> ()
//   }, {
//   ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<f32>):
//     %0 = "gf_tensor.add"(%arg2, %arg0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//     %1 = "gf_tensor.add"(%arg1, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//     "gf_ctl.yield"(%0, %1) : (tensor<f32>, tensor<f32>) -> ()
//   }, {
//   ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>):
//     %0 = "gf_tensor.div"(%arg0, %arg1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
//     "gf_ctl.yield"(%0) : (tensor<f32>) -> ()
//   }) : () -> ()
// }
