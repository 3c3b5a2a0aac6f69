// Halves are stored, not computed with.
// run: ! tiga-opt %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  func.func @wrong(%x: tensor<?xf16, #gf.on<@V>> {gf.name = "x"}) -> tensor<?xf16, #gf.on<@V>> {
    %0 = "gf_tensor.exp"(%x) : (tensor<?xf16, #gf.on<@V>>) -> tensor<?xf16, #gf.on<@V>>
    return %0 : tensor<?xf16, #gf.on<@V>>
  }
}
// out:
// %s:6:10: exp of f16 @ V: f16 and bf16 are only stored (cast to f32)
