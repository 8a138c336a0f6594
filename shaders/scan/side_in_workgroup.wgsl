// The columns of the invocations of a workgroup lie side by side. Needs columns.
#import invocation/in_workgroup

fn columns_for(at: Invocation) -> Columns {
  return columns_at(group_of(at) * WG_SIZE, at.lane, WG_SIZE);
}
