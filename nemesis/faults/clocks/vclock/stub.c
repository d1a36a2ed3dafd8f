// The code that runs in processes of the node. It adds to what the process would be told of the wall clock; all other clocks
// it leaves alone. It uses only registers that a call may use, and is copied as a whole to wherever there is room.
asm(R"(
.section .rodata
.balign 16
.globl block_start, block_end, ask, after_ask, on_clock_gettime, on_gettimeofday, on_time
block_start:
  .quad 0, 0                # magic, token
until:  .quad 0
anchor: .quad 0
base:   .quad 0
rate:   .quad 0
delta:  .quad 0
half:   .quad 0
  .quad 0, 0, 0             # what the entries held

shifted:                    # (rsi: a timespec) -> rax s, rdx ns, of the moved clock
  imul $1000000000, (%rsi), %r8
  add 8(%rsi), %r8
  cmp until(%rip), %r8
  jge 2f
  mov %r8, %r9
  sub anchor(%rip), %r9
  mov %r9, %rax
  imulq rate(%rip)
  shrd $32, %rdx, %rax
  add base(%rip), %rax
  add %rax, %r8
  mov half(%rip), %rcx
  test %rcx, %rcx
  jz 2f
  mov %r9, %rax
  cqo
  idiv %rcx
  test $1, %al
  jz 2f
  add delta(%rip), %r8
2:mov %r8, %rax
  cqo
  mov $1000000000, %ecx
  idiv %rcx
  test %rdx, %rdx
  jns 3f
  add %rcx, %rdx
  dec %rax
3:ret

.balign 16
ask:                        # (edi: which, rsi: a timespec) -> eax: what the process would be told without us
  mov $228, %eax            # the kernel says it; where they can be, the first instructions of the vDSO are put here
  syscall                   # instead, and a jump to those that follow
  ret
  .balign 32
after_ask:

on_clock_gettime:           # (edi: which, rsi: a timespec)
  test %edi, %edi           # CLOCK_REALTIME
  jz 4f
  cmp $5, %edi              # CLOCK_REALTIME_COARSE
  je 4f
  cmp $11, %edi             # CLOCK_TAI
  jne ask
4:push %rsi
  call ask
  pop %rsi
  test %eax, %eax
  jnz 5f
  call shifted
  mov %rax, (%rsi)
  mov %rdx, 8(%rsi)
  xor %eax, %eax
5:ret

wall:                       # -> rax s, rdx ns
  sub $24, %rsp
  mov %rsp, %rsi
  xor %edi, %edi
  call ask
  mov %rsp, %rsi
  call shifted
  add $24, %rsp
  ret

on_gettimeofday:            # (rdi: a timeval or none, rsi: a timezone or none)
  push %rsi
  push %rdi
  test %rdi, %rdi
  jz 6f
  call wall
  pop %rdi
  mov %rax, (%rdi)
  mov %rdx, %rax
  cqo
  mov $1000, %ecx
  idiv %rcx
  mov %rax, 8(%rdi)
  push %rdi
6:pop %rdi
  pop %rsi
  xor %eax, %eax
  test %rsi, %rsi
  jz 7f
  xor %edi, %edi
  mov $96, %eax             # the time zone is the kernel's
  syscall
7:ret

on_time:                    # (rdi: seconds or none) -> seconds
  push %rdi
  call wall
  pop %rdi
  test %rdi, %rdi
  jz 8f
  mov %rax, (%rdi)
8:ret
.balign 16
block_end:
.text
)");
