// Running sums, and their gradient: sums from the other end.
// run: tiga-opt --verify --grad=y:x %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  func.func @sums(%x: tensor<?x2x3xf32, #gf.on<@V>> {gf.name = "x"}) -> (tensor<?x2x3xf32, #gf.on<@V>> {gf.name = "y"}) {
    %0 = "gf_tensor.cumsum"(%x) <{axis = 1 : i64, reverse = false}> : (tensor<?x2x3xf32, #gf.on<@V>>) -> tensor<?x2x3xf32, #gf.on<@V>>
    %1 = "gf_tensor.cumsum"(%0) <{axis = 0 : i64, reverse = true}> : (tensor<?x2x3xf32, #gf.on<@V>>) -> tensor<?x2x3xf32, #gf.on<@V>>
    return %1 : tensor<?x2x3xf32, #gf.on<@V>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   func.func @sums(%arg0: tensor<?x2x3xf32, #gf.on<@V>> {gf.name = "x"}, %arg1: tensor<?x2x3xf32, #gf.on<@V>> {gf.name = "cot.y"}) -> (tensor<?x2x3xf32, #gf.on<@V>> {gf.name = "y"}, tensor<?x2x3xf32, #gf.on<@V>> {gf.name = "grad.x"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?x2x3xf32, #gf.on<@V>>) -> tensor<?x2x3xf32, #gf.on<@V>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?x2x3xf32, #gf.on<@V>>) -> tensor<?x2x3xf32, #gf.on<@V>>
//     %2 = "gf_tensor.cumsum"(%0) <{axis = 1 : i64, reverse = false}> : (tensor<?x2x3xf32, #gf.on<@V>>) -> tensor<?x2x3xf32, #gf.on<@V>>
//     %3 = "gf_tensor.cumsum"(%2) <{axis = 0 : i64, reverse = true}> : (tensor<?x2x3xf32, #gf.on<@V>>) -> tensor<?x2x3xf32, #gf.on<@V>>
//     %4 = "gf_tensor.cumsum"(%1) <{axis = 0 : i64, reverse = false}> : (tensor<?x2x3xf32, #gf.on<@V>>) -> tensor<?x2x3xf32, #gf.on<@V>>
//     %5 = "gf_tensor.cumsum"(%4) <{axis = 1 : i64, reverse = true}> : (tensor<?x2x3xf32, #gf.on<@V>>) -> tensor<?x2x3xf32, #gf.on<@V>>
//     return %3, %5 : tensor<?x2x3xf32, #gf.on<@V>>, tensor<?x2x3xf32, #gf.on<@V>>
//   }
// }
