// Passes have names.
// run: ! tiga-opt --pass=nothing %s
module {
  "gf.set"() <{sym_name = "V"}> : () -> ()
  "gf.relation"() <{dst = @V, src = @V, sym_name = "r"}> : () -> ()
  func.func @f() {
    return
  }
}
// out:
// %s: no pass 'nothing' (there are: clean, fma, rows, hoist, move, guard, unguard, prepare)
