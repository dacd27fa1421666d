define i64 @f(i32 %x, i32 %s, i64 %a, ptr addrspace(1) %p) {
entry:
  %lt = icmp slt i32 %s, 2
  br i1 %lt, label %low, label %high
low:
  %is1 = icmp eq i32 %s, 1
  br i1 %is1, label %case1, label %other
high:
  %is2 = icmp eq i32 %s, 2
  br i1 %is2, label %case2, label %other
case1:
  br label %case2
case2:
  %v = phi i64 [ 7, %case1 ], [ %a, %high ]
  %z = zext i32 %x to i64
  store i64 %v, ptr addrspace(1) %p
  br label %exit
other:
  %z2 = zext i32 %x to i64
  br label %exit
exit:
  %r = phi i64 [ %z, %case2 ], [ %z2, %other ]
  ret i64 %r
}
