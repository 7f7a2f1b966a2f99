// SPDX-License-Identifier: Apache-2.0
#include "gates/damage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kf {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string index_text(const std::vector<std::int64_t>& index) {
  std::string text = "[";
  for (std::size_t i = 0; i < index.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(index[i]);
  }
  return text + "]";
}

// "row 3 (of 7 rows)", "rows 2 to 5 (of 7)": "rows 3 of 7" would read as a count.
std::string range(const std::string& what, std::int64_t first, std::int64_t last, std::int64_t of) {
  return first == last
             ? what + " " + std::to_string(first) + " (of " + std::to_string(of) + " " + what + "s)"
             : what + "s " + std::to_string(first) + " to " + std::to_string(last) + " (of " + std::to_string(of) + ")";
}
std::string between(std::int64_t count, const std::string& what, std::int64_t first, std::int64_t last,
                    std::int64_t of) {
  return std::to_string(count) + " " + what + "s between " + std::to_string(first) + " and " + std::to_string(last) +
         " (of " + std::to_string(of) + ")";
}

struct Box {
  std::int64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
};

// Rows of a bounding box: row number = the index without its last dim, row-major.
Box box_of(const Mismatch& mismatch, const Tensor& tensor) {
  Box box;
  const std::size_t rank = tensor.extent.size();
  if (rank == 0 || mismatch.first_index.size() != rank || mismatch.last_index.size() != rank) {
    return box;
  }
  for (std::size_t dim = 0; dim + 1 < rank; ++dim) {
    box.first_row = box.first_row * tensor.extent[dim] + mismatch.first_index[dim];
    box.last_row = box.last_row * tensor.extent[dim] + mismatch.last_index[dim];
  }
  box.first_column = mismatch.first_index[rank - 1];
  box.last_column = mismatch.last_index[rank - 1];
  return box;
}

std::string rows_text(const Mismatch& mismatch, const Box& box) {
  if (mismatch.wrong_rows == mismatch.rows) {
    return mismatch.rows == 1 ? "" : "all " + std::to_string(mismatch.rows) + " rows";
  }
  const std::int64_t spanned = box.last_row - box.first_row + 1;
  if (mismatch.wrong_rows == spanned || spanned <= 0) {
    return range("row", box.first_row, box.last_row, mismatch.rows);
  }
  return between(mismatch.wrong_rows, "row", box.first_row, box.last_row, mismatch.rows);
}

std::string columns_text(const Mismatch& mismatch, const Box& box) {
  if (mismatch.wrong_columns == mismatch.columns) {
    return mismatch.columns == 1 ? "" : "all " + std::to_string(mismatch.columns) + " columns";
  }
  const std::int64_t spanned = box.last_column - box.first_column + 1;
  if (mismatch.wrong_columns == spanned) {
    return range("column", box.first_column, box.last_column, mismatch.columns);
  }
  return between(mismatch.wrong_columns, "column", box.first_column, box.last_column, mismatch.columns);
}

// The largest power of two (at least 4) that `first` is a multiple of and `size` is not: a tile whose tail is missing.
std::int64_t tile_before(std::int64_t first, std::int64_t size) {
  for (std::int64_t tile = 1 << 16; tile >= 4; tile /= 2) {
    if (first % tile == 0 && size % tile != 0 && size - first < tile) {
      return tile;
    }
  }
  return 0;
}

// Elements at the end of rows, or rows at the end, that nobody wrote.
std::string not_covered(const Mismatch& m, const Box& box, bool columns) {
  if (columns && m.wrong_rows == m.rows && m.columns == 2 * m.wrong_columns) {
    return "the second half of each row is not covered: does the block have as many threads as the row's tile needs?";
  }
  if (columns) {
    const std::int64_t tile = tile_before(box.first_column, m.columns);
    return tile > 0 ? "the tail after the last full tile of " + std::to_string(tile) + " columns is not handled"
                    : "the end of each row is not covered";
  }
  const std::int64_t tile = tile_before(box.first_row, m.rows);
  return tile > 0 ? "the rows after the last full tile of " + std::to_string(tile) + " are not covered"
                  : "the last rows are not covered: is the grid too small?";
}

// The same, where most of them were written: whoever wrote them did not know what belongs there.
std::string written_but_wrong(const Mismatch& m, const Box& box, bool columns) {
  if (columns) {
    const std::int64_t tile = tile_before(box.first_column, m.columns);
    return "columns below " + std::to_string(box.first_column) + " are right" +
           (m.wrong_rows == m.rows ? "" : " in these rows") + ": a wrong index of an element, or a wrong tail" +
           (tile > 0 ? " after the last full tile of " + std::to_string(tile) : "") + "?";
  }
  return box.first_row == 1 ? "all rows but the first: a wrong stride or offset of rows?"
                            : "rows below " + std::to_string(box.first_row) +
                                  " are right: a wrong offset of the rows from there on (a stride, an index that "
                                  "overflows), or a wrong tail?";
}

std::string guess(const Mismatch& m, const Box& box) {
  const double box_area = static_cast<double>(box.last_row - box.first_row + 1) *
                          static_cast<double>(box.last_column - box.first_column + 1);
  // A tail that is not covered is wrong throughout; a few wrong elements that happen to lie there are another matter.
  const bool dense = 2.0 * static_cast<double>(m.wrong) >= box_area;
  const bool tail_columns = dense && box.last_column == m.columns - 1 && box.first_column > 0 &&
                            m.wrong_columns == box.last_column - box.first_column + 1;
  const bool tail_rows =
      dense && box.last_row == m.rows - 1 && box.first_row > 0 && m.wrong_rows == box.last_row - box.first_row + 1;
  if (m.wrong == m.elements) {
    return m.unwritten == m.wrong ? "no element was written: did the kernel run over this output at all?"
           : m.class_errors == m.wrong
               ? "every element is NaN or Inf where it must not be: memory that was never written is read?"
               : "no element is right: an error of the formula, of the strides or of the whole launch";
  }
  if (tail_columns || tail_rows) {
    return 2 * m.unwritten >= m.wrong ? not_covered(m, box, tail_columns) : written_but_wrong(m, box, tail_columns);
  }
  if (m.wrong_rows < m.rows && m.wrong_columns == m.columns && m.wrong >= m.wrong_rows * m.columns) {
    return "whole rows are wrong: what is computed once a row (a sum, a maximum) is wrong there";
  }
  if (m.wrong > 4 && box_area > 0 && static_cast<double>(m.wrong) < 0.2 * box_area) {
    return "scattered (" + number(100.0 * static_cast<double>(m.wrong) / box_area) +
           " % of that box): precision, special values or a race rather than an index error";
  }
  return "";
}

}  // namespace

std::string describe_damage(const Mismatch& mismatch, const Tensor& tensor) {
  if (mismatch.wrong == 0) {
    return "";
  }
  const Box box = box_of(mismatch, tensor);
  const std::string rows = rows_text(mismatch, box), columns = columns_text(mismatch, box);
  std::string text = rows + (rows.empty() || columns.empty() ? "" : ", ") + columns;
  text = text.empty() ? "the only element" : text;
  if (mismatch.unwritten == mismatch.wrong) {
    text += ", all unwritten";
  } else if (mismatch.unwritten > 0) {
    text += ", " + std::to_string(mismatch.unwritten) + " of the " + std::to_string(mismatch.wrong) + " unwritten";
  }
  if (mismatch.class_errors > 0) {
    text += ", " + std::to_string(mismatch.class_errors) + " NaN or Inf on one side only";
  }
  const std::string cause = guess(mismatch, box);
  return cause.empty() ? text : text + ": " + cause;
}

std::string mismatch_message(const Mismatch& m) {
  std::string text = m.output + ": " + std::to_string(m.wrong) + " of " + std::to_string(m.elements) + " elements are ";
  if (m.by_rms) {
    text += "in regions whose RMS error is too large; the worst region starts at " + index_text(m.worst_index) +
            " with RMS error " + number(m.worst_out) + " where the reference's RMS is " + number(m.worst_ref) +
            " (allowed " + number(m.worst_bound) + ")";
  } else {
    const bool unwritten = m.unwritten == m.wrong;
    text += unwritten ? "not written, for example " : "wrong; the worst is at ";
    text += index_text(m.worst_index) + ": ";
    text += unwritten ? "reference " + number(m.worst_ref)
                      : "got " + number(m.worst_out) + ", reference " + number(m.worst_ref);
    if (std::isfinite(m.worst_ratio)) {
      text += ", allowed difference " + number(m.worst_bound) + " (" + number(m.worst_ratio) + " times too far)";
    }
  }
  if (m.inexact) {
    text +=
        ". These inputs are small integers (or a single one a row), for which every intermediate result is exact in "
        "float32, so "
        "the output must be the reference, rounded once: something is computed or kept in fewer bits";
  }
  return m.shape.empty() ? text : text + ". " + m.shape;
}

void merge_mismatch(Mismatch& into, const Mismatch& slice, bool sliced_last) {
  into.elements += slice.elements;
  into.rows = sliced_last ? std::max(into.rows, slice.rows) : into.rows + slice.rows;
  into.columns = sliced_last ? into.columns + slice.columns : std::max(into.columns, slice.columns);
  if (slice.wrong == 0 || (slice.by_rms && into.wrong > 0 && !into.by_rms)) {
    return;  // element errors say more than regions that are off as a whole
  }
  if (into.wrong == 0 || (into.by_rms && !slice.by_rms)) {
    const std::int64_t elements = into.elements, rows = into.rows, columns = into.columns;
    std::string output = into.output;
    into = slice;
    into.elements = elements, into.rows = rows, into.columns = columns;
    into.output = std::move(output);
    return;
  }
  into.wrong += slice.wrong;
  into.unwritten += slice.unwritten;
  into.class_errors += slice.class_errors;
  for (std::size_t dim = 0; dim < into.first_index.size() && dim < slice.first_index.size(); ++dim) {
    into.first_index[dim] = std::min(into.first_index[dim], slice.first_index[dim]);
    into.last_index[dim] = std::max(into.last_index[dim], slice.last_index[dim]);
  }
  into.wrong_rows = sliced_last ? std::max(into.wrong_rows, slice.wrong_rows) : into.wrong_rows + slice.wrong_rows;
  into.wrong_columns =
      sliced_last ? into.wrong_columns + slice.wrong_columns : std::max(into.wrong_columns, slice.wrong_columns);
  if (slice.worst_ratio > into.worst_ratio) {
    into.worst_ratio = slice.worst_ratio;
    into.worst_index = slice.worst_index;
    into.worst_out = slice.worst_out, into.worst_ref = slice.worst_ref, into.worst_bound = slice.worst_bound;
  }
}

}  // namespace kf
