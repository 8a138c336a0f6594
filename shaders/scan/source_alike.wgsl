// Where elements are: side by side as results are, from the same place in a unit on.
alias Raw = vec4<u32>;

fn no_raw() -> Raw { return no_values(); }

// `ahead_of` the line that is walked behind the one whose results begin at `first`.
fn ahead_of_next(first: u32) -> u32 { return params.in_base - params.out_base; }

// Unit `u` of the output as it is in the input, whole units ahead.
fn load_raw(u: u32, ahead: u32) -> Raw { return load_input((u * PER_UNIT + ahead) / PER_UNIT); }

fn unit_of(raw: Raw, ahead: u32) -> vec4<u32> { return raw; }
