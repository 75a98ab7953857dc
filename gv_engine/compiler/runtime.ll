; What compiled code asks for by name, in place of Numba's C library: memory that is never freed,
; because the host sets @heap back before each call. A block begins with Numba's MemInfo.
%MemInfo = type { i64, ptr, ptr, ptr, i64 }
; the first constant, so that nothing has the address 0
@null = global [64 x i8] zeroinitializer
@heap = global i64 0
@fuel = global i64 0

define void @gv_engine_set_heap(i64 %start) {
  store i64 %start, ptr @heap
  store i64 268435456, ptr @fuel
  ret void
}

; Called in loops that may never end: the host gets an error after so many turns of them in one run.
define void @gv_engine_burn() {
  %left = load i64, ptr @fuel
  %less = sub i64 %left, 1
  store i64 %less, ptr @fuel
  %is_empty = icmp slt i64 %less, 0
  br i1 %is_empty, label %stop, label %go_on
stop:
  call void @llvm.trap()
  unreachable
go_on:
  ret void
}

declare void @llvm.trap()

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %free = load i64, ptr @heap
  %above = add i64 %free, 63
  %head = and i64 %above, -64
  %data = add i64 %head, 64
  %end = add i64 %data, %size
  store i64 %end, ptr @heap
  %info = inttoptr i64 %head to ptr
  store i64 1, ptr %info
  %place = inttoptr i64 %data to ptr
  %data_at = getelementptr %MemInfo, ptr %info, i32 0, i32 3
  store ptr %place, ptr %data_at
  %size_at = getelementptr %MemInfo, ptr %info, i32 0, i32 4
  store i64 %size, ptr %size_at
  ret ptr %info
}

define ptr @NRT_Allocate(i64 %size) {
  %info = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 64)
  %data_at = getelementptr %MemInfo, ptr %info, i32 0, i32 3
  %data = load ptr, ptr %data_at
  ret ptr %data
}

define ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %dtor) {
  %info = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 64)
  ret ptr %info
}

define ptr @NRT_MemInfo_varsize_realloc(ptr %info, i64 %size) {
  %new = call ptr @NRT_Allocate(i64 %size)
  %data_at = getelementptr %MemInfo, ptr %info, i32 0, i32 3
  %size_at = getelementptr %MemInfo, ptr %info, i32 0, i32 4
  %old = load ptr, ptr %data_at
  %old_size = load i64, ptr %size_at
  %is_less = icmp ult i64 %old_size, %size
  %kept = select i1 %is_less, i64 %old_size, i64 %size
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %kept, i1 false)
  store ptr %new, ptr %data_at
  store i64 %size, ptr %size_at
  ret ptr %new
}

define void @NRT_MemInfo_call_dtor(ptr %info) {
  ret void
}

define void @PyErr_SetString(ptr %kind, ptr %text) {
  ret void
}

@PyExc_StopIteration = global i64 0
@PyExc_MemoryError = global i64 0
@PyExc_RuntimeError = global i64 0

; The product of two 128-bit numbers, from products of 32-bit halves; WebAssembly has none. LLVM must
; not optimise this: it would see a 128-bit product, and let the function call itself.
define void @__multi3(ptr %out, i64 %a, i64 %a_high, i64 %b, i64 %b_high) {
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %carry = lshr i64 %p00, 32
  %middle = add i64 %p10, %carry
  %middle0 = and i64 %middle, 4294967295
  %middle1 = lshr i64 %middle, 32
  %sum = add i64 %p01, %middle0
  %sum1 = lshr i64 %sum, 32
  %high0 = add i64 %p11, %middle1
  %high1 = add i64 %high0, %sum1
  %left = mul i64 %a, %b_high
  %right = mul i64 %a_high, %b
  %high2 = add i64 %high1, %left
  %high3 = add i64 %high2, %right
  %low = mul i64 %a, %b
  store i64 %low, ptr %out
  %high_at = getelementptr i8, ptr %out, i32 8
  store i64 %high3, ptr %high_at
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Memory is freed at once, by gv_engine_set_heap.
define void @NRT_Free(ptr %memory) {
  ret void
}
