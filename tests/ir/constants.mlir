// Every bit of a constant survives: NaN payloads and infinities in hex.
// run: tiga-opt --verify %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @constants() -> (tensor<f32> {gf.name = "nan"}, tensor<f32> {gf.name = "inf"}, tensor<f32> {gf.name = "minus_zero"}, tensor<2xf64> {gf.name = "tenth"}, tensor<i64> {gf.name = "least"}, tensor<i1> {gf.name = "yes"}) {
    %0 = "gf_tensor.constant"() <{value = 0x7FC00001 : f32}> : () -> tensor<f32>
    %1 = "gf_tensor.constant"() <{value = 0x7F800000 : f32}> : () -> tensor<f32>
    %2 = "gf_tensor.constant"() <{value = -0.0 : f32}> : () -> tensor<f32>
    %3 = "gf_tensor.constant"() <{value = 0.1}> : () -> tensor<2xf64>
    %4 = "gf_tensor.constant"() <{value = -9223372036854775808}> : () -> tensor<i64>
    %5 = "gf_tensor.constant"() <{value = true}> : () -> tensor<i1>
    return %0, %1, %2, %3, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xf64>, tensor<i64>, tensor<i1>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @constants() -> (tensor<f32> {gf.name = "nan"}, tensor<f32> {gf.name = "inf"}, tensor<f32> {gf.name = "minus_zero"}, tensor<2xf64> {gf.name = "tenth"}, tensor<i64> {gf.name = "least"}, tensor<i1> {gf.name = "yes"}) {
//     %0 = "gf_tensor.constant"() <{value = 0x7FC00001 : f32}> : () -> tensor<f32>
//     %1 = "gf_tensor.constant"() <{value = 0x7F800000 : f32}> : () -> tensor<f32>
//     %2 = "gf_tensor.constant"() <{value = -0.000000e+00 : f32}> : () -> tensor<f32>
//     %3 = "gf_tensor.constant"() <{value = 1.000000e-01 : f64}> : () -> tensor<2xf64>
//     %4 = "gf_tensor.constant"() <{value = -9223372036854775808 : i64}> : () -> tensor<i64>
//     %5 = "gf_tensor.constant"() <{value = true}> : () -> tensor<i1>
//     return %0, %1, %2, %3, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xf64>, tensor<i64>, tensor<i1>
//   }
// }
