// Halves are f32 where they are computed with: rows travel as halves, results and gradients are halves.
// run: tiga-opt --verify -e 'out = sum(edge.w * src.x)' --in=src.x=bf16[4] --in=edge.w=bf16 --grad=out:src.x --pass=prepare
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.set"() <{sym_name = "U"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @U, sym_name = "r"}> : () -> ()
//   func.func @main(%arg0: tensor<?xbf16, #gf.on<@r.edges>> {gf.name = "edge.w"}, %arg1: tensor<?x4xbf16, #gf.on<@U>> {gf.name = "src.x"}, %arg2: tensor<?x4xbf16, #gf.on<@V>> {gf.name = "cot.out"}) -> (tensor<?x4xbf16, #gf.on<@V>> {gf.name = "out"}, tensor<?x4xbf16, #gf.on<@U>> {gf.name = "grad.src.x"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?xbf16, #gf.on<@r.edges>>) -> tensor<?xbf16, #gf.on<@r.edges>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?x4xbf16, #gf.on<@U>>) -> tensor<?x4xbf16, #gf.on<@U>>
//     %2 = "gf_tensor.input"(%arg2) : (tensor<?x4xbf16, #gf.on<@V>>) -> tensor<?x4xbf16, #gf.on<@V>>
//     %3 = "gf_mp.gather"(%1) <{map = @r::@src}> : (tensor<?x4xbf16, #gf.on<@U>>) -> tensor<?x4xbf16, #gf.on<@r.edges>>
//     %4 = "gf_tensor.cast"(%3) : (tensor<?x4xbf16, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %5 = "gf_tensor.cast"(%0) : (tensor<?xbf16, #gf.on<@r.edges>>) -> tensor<?xf32, #gf.on<@r.edges>>
//     %6 = "gf_tensor.broadcast"(%5) <{shape = array<i64: 4>}> : (tensor<?xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %7 = "gf_tensor.mul"(%4, %6) : (tensor<?x4xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %8 = "gf_mp.reduce"(%7) <{map = @r::@dst}> : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@V>>
//     %9 = "gf_tensor.cast"(%8) : (tensor<?x4xf32, #gf.on<@V>>) -> tensor<?x4xbf16, #gf.on<@V>>
//     %10 = "gf_mp.gather"(%2) <{map = @r::@dst}> : (tensor<?x4xbf16, #gf.on<@V>>) -> tensor<?x4xbf16, #gf.on<@r.edges>>
//     %11 = "gf_tensor.cast"(%10) : (tensor<?x4xbf16, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %12 = "gf_tensor.mul"(%11, %6) : (tensor<?x4xf32, #gf.on<@r.edges>>, tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@r.edges>>
//     %13 = "gf_mp.reduce"(%12) <{map = @r::@src}> : (tensor<?x4xf32, #gf.on<@r.edges>>) -> tensor<?x4xf32, #gf.on<@U>>
//     %14 = "gf_tensor.cast"(%13) : (tensor<?x4xf32, #gf.on<@U>>) -> tensor<?x4xbf16, #gf.on<@U>>
//     return %9, %14 : tensor<?x4xbf16, #gf.on<@V>>, tensor<?x4xbf16, #gf.on<@U>>
//   }
// }
