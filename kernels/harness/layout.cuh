// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base.cuh"
// Where the elements of a strided tensor lie, in a form that travels as a kernel argument.

namespace kf::harness {

// Dims are padded in front with extent 1 and stride 0, so that loops have a fixed length.
struct Layout {
  i64 shape[kMaxRank], stride[kMaxRank];  // elements
  int order[kMaxRank];                    // dims by falling stride
  i64 elements, columns;                  // columns: the last extent, 1 for rank 0
  int rank, type, bytes;                  // bytes of one element
  int dense;                              // row-major without gaps: offset == index
};

// Splits a logical index (row-major over `shape`) into coordinates.
KF_FN void coordinates(const i64* shape, i64 index, i64* coordinate) {
  for (int dim = kMaxRank - 1; dim >= 0; --dim) {
    const i64 rest = shape[dim] == 1 ? index : quotient(index, shape[dim]);
    coordinate[dim] = index - rest * shape[dim];
    index = rest;
  }
}

// Elements from the first one to logical index `index`.
KF_FN i64 offset_of(const Layout& layout, i64 index) {
  if (layout.dense) {
    return index;
  }
  i64 offset = 0;
  for (int dim = kMaxRank - 1; dim >= 0; --dim) {
    if (layout.shape[dim] != 1) {
      const i64 rest = quotient(index, layout.shape[dim]);
      offset += (index - rest * layout.shape[dim]) * layout.stride[dim];
      index = rest;
    }
  }
  return offset;
}

// Is there an element at `offset` (in elements)? Right because strides nest: each is larger than everything that the
// smaller ones reach, which layout_of() checks.
KF_FN bool holds_element(const Layout& layout, i64 offset) {
  if (layout.elements == 0) {
    return false;
  }
  for (int i = 0; i < kMaxRank; ++i) {
    const int dim = layout.order[i];
    if (layout.shape[dim] != 1) {
      const i64 at = quotient(offset, layout.stride[dim]);
      offset -= (at < layout.shape[dim] ? at : layout.shape[dim] - 1) * layout.stride[dim];
    }
  }
  return offset == 0;
}

KF_FN u64 load_element(const u8* base, i64 offset, int bytes) {
  const u8* at = base + offset * bytes;
  switch (bytes) {
    case 8:
      return *reinterpret_cast<const u64*>(at);
    case 4:
      return *reinterpret_cast<const u32*>(at);
    case 2:
      return *reinterpret_cast<const u16*>(at);
    default:
      return *at;
  }
}

KF_FN void store_element(u8* base, i64 offset, int bytes, u64 bits) {
  u8* at = base + offset * bytes;
  switch (bytes) {
    case 8:
      *reinterpret_cast<u64*>(at) = bits;
      break;
    case 4:
      *reinterpret_cast<u32*>(at) = static_cast<u32>(bits);
      break;
    case 2:
      *reinterpret_cast<u16*>(at) = static_cast<u16>(bits);
      break;
    default:
      *at = static_cast<u8>(bits);
      break;
  }
}

}  // namespace kf::harness
