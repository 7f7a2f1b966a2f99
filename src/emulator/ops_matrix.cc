// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix: PTX ISA 9.0 section 9.7.14.
#include <cstring>

#include "access.h"
#include "lanes.h"
#include "traffic.h"
#include "undefined.h"

namespace kf::emulator {
namespace {

using W = std::uint32_t;

// ldmatrix, stmatrix: matrix m's row r is at the address of lane 8 m + r; lane 4 r + c holds elements 2 c and
// 2 c + 1 of row r, or of column r with .trans. extras: slots; width: matrices; mode: Space | narrow << 7.
int row_of(int lane, int element, bool transpose) {
  return transpose ? 2 * (lane % 4) + element : lane / 4;
}
int column_of(int lane, int element, bool transpose) {
  return transpose ? lane / 4 : 2 * (lane % 4) + element;
}

// Fragments of a matrix some of whose rows have bytes without a value.
void load_unwritten(Warp& w, const Inst& i, int first_row, W slot, bool transpose) {
  for (int l = 0; l < kLanes; ++l) {
    std::uint8_t bits[4]{};
    for (int e = 0; e < 2; ++e) {
      const int from = first_row + row_of(l, e, transpose), at = 2 * column_of(l, e, transpose);
      std::memcpy(bits + 2 * e, unwritten_bytes(w, from, 16).data() + at, 2);
      if ((bits[2 * e] | bits[2 * e + 1]) != 0)
        w.undefined->origin[static_cast<std::size_t>(l)] = w.undefined->origin[static_cast<std::size_t>(from)];
    }
    if ((bits[0] | bits[1] | bits[2] | bits[3]) != 0) make_undefined(w, i, l, slot, 4, bits);
  }
}

template <bool kStore, bool kTranspose>
void matrix(Warp& w, const Inst& i, Mask lanes) {
  if (lanes != kAllLanes)
    report(w, i, std::countr_zero(lanes), "ldmatrix or stmatrix without all 32 lanes of the warp");
  const W* slots = w.launch->program->extras.data() + i.extra;
  for (int m = 0; m < i.width; ++m) {
    std::uint16_t tile[8][8];
    std::byte* rows[8];
    std::uint64_t at[kLanes];
    w.unwritten_lanes = 0;
    w.may_be_unwritten = !kStore;
    for (int r = 0; r < 8; ++r) {
      const int from = 8 * m + r;
      at[from] = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, from);
      rows[r] = resolve(w, i, from, at[from], 16, Space::kShared, kStore ? Access::kWrite : Access::kRead);
      if (!kStore) std::memcpy(tile[r], rows[r], 16);
    }
    w.may_be_unwritten = false;
    count_traffic(w, Space::kShared, at, Mask{0xff} << (8 * m), 16, kStore);
    W* fragment = w.reg<W>(slots[m]);
    for (int l = 0; l < kLanes; ++l)
      for (int e = 0; e < 2; ++e) {
        const int row = row_of(l, e, kTranspose), column = column_of(l, e, kTranspose);
        if (kStore)
          tile[row][column] = static_cast<std::uint16_t>(fragment[l] >> (16 * e));
        else
          fragment[l] = (e == 0 ? 0 : fragment[l]) | W{tile[row][column]} << (16 * e);
      }
    if (kStore)
      for (int r = 0; r < 8; ++r) std::memcpy(rows[r], tile[r], 16);
    else if (w.unwritten_lanes != 0)
      load_unwritten(w, i, 8 * m, slots[m], kTranspose);
  }
}

bool bind_ldst(Binder& b, bool is_store) {
  if (!b.take("sync")) return false;
  b.take("aligned");
  if (!b.take("m8n8")) b.refuse("this matrix shape");
  const std::size_t count = b.take("x1") ? 1 : b.take("x2") ? 2 : b.take("x4") ? 4 : 0;
  const bool transpose = b.take("trans");
  if (count == 0 || !b.take("b16")) return false;
  const Operand& fragment = b.operand(is_store ? 1 : 0);
  const Address address = bind_address(b, b.operand(is_store ? 0 : 1));
  if ((fragment.kind == Operand::Kind::kVector ? fragment.parts.size() : 1) != count)
    b.refuse("a fragment of another size");
  for (std::size_t r = 0; r < count; ++r) {
    const Operand& part = fragment.kind == Operand::Kind::kVector ? fragment.parts[r] : fragment;
    const W at = b.extras({is_store ? b.source(part, 32) : b.dest(part, 32)});
    if (r == 0) b.out.extra = at;
  }
  b.out.a = address.slot;
  b.out.imm = address.offset;
  b.out.mode = address.narrow ? 0x80 : 0;
  b.out.width = static_cast<std::uint8_t>(count);
  b.out.fn = is_store ? (transpose ? &matrix<true, true> : &matrix<true, false>)
                      : (transpose ? &matrix<false, true> : &matrix<false, false>);
  return true;
}

void transpose_fragment(Warp& w, const Inst& i, Mask lanes) {
  if (lanes != kAllLanes) report(w, i, std::countr_zero(lanes), "movmatrix without all 32 lanes of the warp");
  W from[kLanes];
  std::memcpy(from, w.reg<W>(i.a), sizeof from);
  for (int l = 0; l < kLanes; ++l) {
    W made = 0;
    for (int e = 0; e < 2; ++e) {
      const int row = l / 4, column = 2 * (l % 4) + e;  // of the result: takes (column, row)
      made |= (from[4 * column + row / 2] >> (16 * (row & 1)) & 0xffff) << (16 * e);
    }
    w.reg<W>(i.d)[l] = made;
  }
}

}  // namespace

bool bind_matrix(Binder& b) {
  if (b.op() == "ldmatrix" || b.op() == "stmatrix") return bind_ldst(b, b.op() == "stmatrix");
  if (b.op() != "movmatrix") return false;
  b.take("sync");
  b.take("aligned");
  if (!b.take("m8n8") || !b.take("trans") || !b.take("b16")) return false;
  bind_slots(b, 32, 32, 1);
  b.out.fn = &transpose_fragment;
  return true;
}

}  // namespace kf::emulator
