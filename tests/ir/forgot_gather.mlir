// An elementwise operation between two sets.
// run: ! tiga-opt %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @wrong(%x: tensor<?x4xf32, #gf.on<@V>> {gf.name = "src.x"}, %e: tensor<?x4xf32, #gf.on<@r.edges>> {gf.name = "edge.e"}) -> tensor<?x4xf32, #gf.on<@r.edges>> {
    %0 = "gf_tensor.mul"(%x, %e) : (tensor<?x4xf32, #gf.on<@V>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
    return %0 : tensor<?x4xf32, #gf.on<@r.edges>>
  }
}
// out:
// %s:7:10: mul of f32 @ V [4], f32 @ r.edges [4]: operands live on different sets (gather one first)
