// Columns of which each invocation has whole pieces: nothing is passed on, as columns_in_frames.wgsl does.
fn beginning(columns: Columns, line: u32) -> Num { return identity(); }
fn beginnings(columns: Columns) -> Nums { return identities(); }
fn settled(unit: vec4<u32>, at: Address) -> vec4<u32> { return unit; }
fn framed(columns: vec4<u32>, at: Address) -> vec4<u32> { return columns; }
