// A row by a number that is not whole.
// run: ! tiga-opt %s
module {
  func.func @wrong(%t: tensor<5x4xf32> {gf.name = "T"}, %k: tensor<2xf32> {gf.name = "k"}) -> tensor<2x4xf32> {
    %0 = "gf_tensor.take"(%t, %k) : (tensor<5x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}
// out:
// %s:5:10: take of f32 @ all [5, 4], f32 @ all [2]: an index is int32 or int64
