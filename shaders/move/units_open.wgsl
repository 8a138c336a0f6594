// Units of the output, made of more than there is of it: those behind its end are left out.
#bind write output: vec4<u32>
#import first_elements
override BITS: u32 = 32;

fn put(unit: u32, bits: vec4<u32>) {
  if (unit + 1u < params.end) {
    store_output(unit, bits);
  } else if (unit + 1u == params.end) {
    store_output(unit, bits & first_elements(params.tail));
  }
}
