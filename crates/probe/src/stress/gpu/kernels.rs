//! The two kernels, in PTX of the version that CUDA 9 and everything since reads, for GPUs of compute
//! capability 7.0 and later. PTX ISA, sections 9.7.3 (`fma`) and 9.7.9 (`ld`, `st`).

/// The module. The driver reads it up to its zero byte.
///
/// `arithmetic` multiplies and adds in eight chains that do not wait for each other, and stores one
/// value a thread so that nothing can be left out. Each chain begins with another value, so that no two
/// can be taken for one; the factor of 1/2 keeps every value finite.
/// `copy` moves 16 bytes a thread at a time from one buffer to another.
pub(super) const MODULE: &std::ffi::CStr = c"
.version 6.0
.target sm_70
.address_size 64

.visible .entry arithmetic(.param .u64 out, .param .u32 rounds)
{
    .reg .pred  %p<2>;
    .reg .b32   %r<6>;
    .reg .f32   %f<11>;
    .reg .b64   %rd<4>;

    ld.param.u64    %rd1, [out];
    ld.param.u32    %r1, [rounds];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32         %r2, %ctaid.x;
    mov.u32         %r3, %ntid.x;
    mov.u32         %r4, %tid.x;
    mad.lo.s32      %r5, %r2, %r3, %r4;
    cvt.rn.f32.u32  %f1, %r5;
    mov.f32         %f2, 0f3F000000;
    add.f32         %f3, %f1, 0f3F800000;
    add.f32         %f4, %f1, 0f3F900000;
    add.f32         %f5, %f1, 0f3FA00000;
    add.f32         %f6, %f1, 0f3FB00000;
    add.f32         %f7, %f1, 0f3FC00000;
    add.f32         %f8, %f1, 0f3FD00000;
    add.f32         %f9, %f1, 0f3FE00000;
    add.f32         %f10, %f1, 0f3FF00000;
again:
    fma.rn.f32      %f3, %f3, %f2, %f1;
    fma.rn.f32      %f4, %f4, %f2, %f1;
    fma.rn.f32      %f5, %f5, %f2, %f1;
    fma.rn.f32      %f6, %f6, %f2, %f1;
    fma.rn.f32      %f7, %f7, %f2, %f1;
    fma.rn.f32      %f8, %f8, %f2, %f1;
    fma.rn.f32      %f9, %f9, %f2, %f1;
    fma.rn.f32      %f10, %f10, %f2, %f1;
    fma.rn.f32      %f3, %f3, %f2, %f1;
    fma.rn.f32      %f4, %f4, %f2, %f1;
    fma.rn.f32      %f5, %f5, %f2, %f1;
    fma.rn.f32      %f6, %f6, %f2, %f1;
    fma.rn.f32      %f7, %f7, %f2, %f1;
    fma.rn.f32      %f8, %f8, %f2, %f1;
    fma.rn.f32      %f9, %f9, %f2, %f1;
    fma.rn.f32      %f10, %f10, %f2, %f1;
    add.s32         %r1, %r1, -1;
    setp.ne.s32     %p1, %r1, 0;
    @%p1 bra        again;
    add.f32         %f3, %f3, %f4;
    add.f32         %f5, %f5, %f6;
    add.f32         %f7, %f7, %f8;
    add.f32         %f9, %f9, %f10;
    add.f32         %f3, %f3, %f5;
    add.f32         %f7, %f7, %f9;
    add.f32         %f3, %f3, %f7;
    mul.wide.u32    %rd3, %r5, 4;
    add.s64         %rd3, %rd2, %rd3;
    st.global.f32   [%rd3], %f3;
    ret;
}

.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 count)
{
    .reg .pred  %p<3>;
    .reg .b32   %r<12>;
    .reg .b64   %rd<8>;

    ld.param.u64    %rd1, [from];
    ld.param.u64    %rd2, [to];
    ld.param.u32    %r1, [count];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mov.u32         %r2, %ctaid.x;
    mov.u32         %r3, %ntid.x;
    mov.u32         %r4, %tid.x;
    mad.lo.s32      %r5, %r2, %r3, %r4;
    mov.u32         %r6, %nctaid.x;
    mul.lo.s32      %r7, %r6, %r3;
    setp.ge.u32     %p1, %r5, %r1;
    @%p1 bra        done;
next:
    mul.wide.u32    %rd5, %r5, 16;
    add.s64         %rd6, %rd3, %rd5;
    add.s64         %rd7, %rd4, %rd5;
    ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd6];
    st.global.v4.u32 [%rd7], {%r8, %r9, %r10, %r11};
    add.s32         %r5, %r5, %r7;
    setp.lt.u32     %p2, %r5, %r1;
    @%p2 bra        next;
done:
    ret;
}
";

/// The kernel of arithmetic.
pub(super) const ARITHMETIC: &std::ffi::CStr = c"arithmetic";
/// The kernel of copies.
pub(super) const COPY: &std::ffi::CStr = c"copy";
/// Threads of a block, of either kernel.
pub(super) const THREADS: u32 = 256;
/// Floating point operations of one thread in one round: sixteen multiplications with an addition.
pub(super) const OPERATIONS_PER_ROUND: u64 = 32;
/// Bytes that a thread of the copy reads, and writes, at a time.
pub(super) const ELEMENT_BYTES: u64 = 16;
