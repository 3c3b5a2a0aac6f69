// Rows of a table by number, and the table's gradient: rows added where they belong.
// run: tiga-opt --verify --grad=out:T --pass=prepare %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @lookup(%t: tensor<5x4xf32> {gf.name = "T"}, %k: tensor<?x2xi32, #gf.on<@r.edges>> {gf.name = "edge.k"}) -> (tensor<?x2x4xf32, #gf.on<@V>> {gf.name = "out"}) {
    %0 = "gf_mp.gather"(%t) <{map = @r.edges::@all}> : (tensor<5x4xf32>) -> tensor<?x5x4xf32, #gf.on<@r.edges>>
    %1 = "gf_tensor.take"(%0, %k) : (tensor<?x5x4xf32, #gf.on<@r.edges>>, tensor<?x2xi32, #gf.on<@r.edges>>) -> tensor<?x2x4xf32, #gf.on<@r.edges>>
    %2 = "gf_mp.reduce"(%1) <{map = @r::@dst}> : (tensor<?x2x4xf32, #gf.on<@r.edges>>) -> tensor<?x2x4xf32, #gf.on<@V>>
    return %2 : tensor<?x2x4xf32, #gf.on<@V>>
  }
}
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
//   func.func @lookup(%arg0: tensor<5x4xf32> {gf.name = "T"}, %arg1: tensor<?x2xi32, #gf.on<@r.edges>> {gf.name = "edge.k"}, %arg2: tensor<?x2x4xf32, #gf.on<@V>> {gf.name = "cot.out"}) -> (tensor<?x2x4xf32, #gf.on<@V>> {gf.name = "out"}, tensor<5x4xf32> {gf.name = "grad.T"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<5x4xf32>) -> tensor<5x4xf32>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?x2xi32, #gf.on<@r.edges>>) -> tensor<?x2xi32, #gf.on<@r.edges>>
//     %2 = "gf_tensor.input"(%arg2) : (tensor<?x2x4xf32, #gf.on<@V>>) -> tensor<?x2x4xf32, #gf.on<@V>>
//     %3 = "gf_mp.gather"(%0) <{map = @r.edges::@all}> : (tensor<5x4xf32>) -> tensor<?x5x4xf32, #gf.on<@r.edges>>
//     %4 = "gf_tensor.take"(%3, %1) : (tensor<?x5x4xf32, #gf.on<@r.edges>>, tensor<?x2xi32, #gf.on<@r.edges>>) -> tensor<?x2x4xf32, #gf.on<@r.edges>>
//     %5 = "gf_mp.reduce"(%4) <{map = @r::@dst}> : (tensor<?x2x4xf32, #gf.on<@r.edges>>) -> tensor<?x2x4xf32, #gf.on<@V>>
//     %6 = "gf_mp.gather"(%2) <{map = @r::@dst}> : (tensor<?x2x4xf32, #gf.on<@V>>) -> tensor<?x2x4xf32, #gf.on<@r.edges>>
//     %7 = "gf_tensor.put"(%1, %6) <{rows = 5 : i64}> : (tensor<?x2xi32, #gf.on<@r.edges>>, tensor<?x2x4xf32, #gf.on<@r.edges>>) -> tensor<?x5x4xf32, #gf.on<@r.edges>>
//     %8 = "gf_mp.reduce"(%7) <{map = @r.edges::@all}> : (tensor<?x5x4xf32, #gf.on<@r.edges>>) -> tensor<5x4xf32>
//     return %5, %8 : tensor<?x2x4xf32, #gf.on<@V>>, tensor<5x4xf32>
//   }
// }
