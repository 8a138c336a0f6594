// Where the loops over lines or pieces lead, in four tensors at once. Needs `steps`, which are theirs.
#param sizes: array<vec4<u32>, 2>
override RANK: u32 = 1;

fn walked(number: u32) -> vec4<u32> {
  var rest = number;
  var at = vec4<u32>(0u);
  #repeat 7: if (RANK > $u + 1u) { let d = max(RANK, $u + 2u) - 1u - $u; let q = rest / params.sizes[d / 4u][d % 4u]; at += (rest - q * params.sizes[d / 4u][d % 4u]) * steps(d); rest = q; }
  return at + rest * steps(0u);
}
