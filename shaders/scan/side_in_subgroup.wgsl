// The columns of the invocations of a subgroup lie side by side: a frame. Needs columns.
#import invocation/in_subgroup
override COLUMNS: u32 = 32; // lanes of a subgroup

fn columns_for(at: Invocation) -> Columns {
  let frame = group_of(at) * (WG_SIZE / COLUMNS) + at.subgroup;
  return columns_at(frame * COLUMNS, at.lane, COLUMNS);
}
