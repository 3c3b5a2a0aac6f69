// What --in says must be a type.
// run: ! tiga-opt -e 'out = sum(src.x)' --in=src.x=f32[4,]
// out:
// tiga-opt: --in=src.x=f32[4,]: expected NAME=DTYPE[EXTENTS]: f16, bf16, f32, f64, i32, i64 or bool, without the row axis
