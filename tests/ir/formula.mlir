// A formula in place of a file, with a gradient.
// run: tiga-opt --verify -e 'out = sum(edge.w * src.x) + b' --in=src.x=f64[4] --in=edge.w=f64 --in=b=f64[4] --grad=out:src.x --pass=clean
// out:
// module {
//   "gf.set"() <{sym_name = "V"}> : () -> ()
//   "gf.set"() <{sym_name = "U"}> : () -> ()
//   "gf.relation"() <{dst = @V, src = @U, sym_name = "r"}> : () -> ()
//   func.func @main(%arg0: tensor<?xf64, #gf.on<@r.edges>> {gf.name = "edge.w"}, %arg1: tensor<?x4xf64, #gf.on<@U>> {gf.name = "src.x"}, %arg2: tensor<4xf64> {gf.name = "b"}, %arg3: tensor<?x4xf64, #gf.on<@V>> {gf.name = "cot.out"}) -> (tensor<?x4xf64, #gf.on<@V>> {gf.name = "out"}, tensor<?x4xf64, #gf.on<@U>> {gf.name = "grad.src.x"}) {
//     %0 = "gf_tensor.input"(%arg0) : (tensor<?xf64, #gf.on<@r.edges>>) -> tensor<?xf64, #gf.on<@r.edges>>
//     %1 = "gf_tensor.input"(%arg1) : (tensor<?x4xf64, #gf.on<@U>>) -> tensor<?x4xf64, #gf.on<@U>>
//     %2 = "gf_tensor.input"(%arg2) : (tensor<4xf64>) -> tensor<4xf64>
//     %3 = "gf_tensor.input"(%arg3) : (tensor<?x4xf64, #gf.on<@V>>) -> tensor<?x4xf64, #gf.on<@V>>
//     %4 = "gf_mp.gather"(%1) <{map = @r::@src}> : (tensor<?x4xf64, #gf.on<@U>>) -> tensor<?x4xf64, #gf.on<@r.edges>>
//     %5 = "gf_tensor.broadcast"(%0) <{shape = array<i64: 4>}> : (tensor<?xf64, #gf.on<@r.edges>>) -> tensor<?x4xf64, #gf.on<@r.edges>>
//     %6 = "gf_tensor.mul"(%4, %5) : (tensor<?x4xf64, #gf.on<@r.edges>>, tensor<?x4xf64, #gf.on<@r.edges>>) -> tensor<?x4xf64, #gf.on<@r.edges>>
//     %7 = "gf_mp.reduce"(%6) <{map = @r::@dst}> : (tensor<?x4xf64, #gf.on<@r.edges>>) -> tensor<?x4xf64, #gf.on<@V>>
//     %8 = "gf_mp.gather"(%2) <{map = @V::@all}> : (tensor<4xf64>) -> tensor<?x4xf64, #gf.on<@V>>
//     %9 = "gf_tensor.add"(%7, %8) : (tensor<?x4xf64, #gf.on<@V>>, tensor<?x4xf64, #gf.on<@V>>) -> tensor<?x4xf64, #gf.on<@V>>
//     %10 = "gf_mp.gather"(%3) <{map = @r::@dst}> : (tensor<?x4xf64, #gf.on<@V>>) -> tensor<?x4xf64, #gf.on<@r.edges>>
//     %11 = "gf_tensor.mul"(%10, %5) : (tensor<?x4xf64, #gf.on<@r.edges>>, tensor<?x4xf64, #gf.on<@r.edges>>) -> tensor<?x4xf64, #gf.on<@r.edges>>
//     %12 = "gf_mp.reduce"(%11) <{map = @r::@src}> : (tensor<?x4xf64, #gf.on<@r.edges>>) -> tensor<?x4xf64, #gf.on<@U>>
//     return %9, %12 : tensor<?x4xf64, #gf.on<@V>>, tensor<?x4xf64, #gf.on<@U>>
//   }
// }
