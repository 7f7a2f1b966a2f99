// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <kfactory/device_facts.h>
#include <kfactory/seed.h>
#include <kfactory/spec.h>

namespace kf {

// Cases that nobody wrote: timed ones with one var axis a little off. They are of the set "held_out", so nothing that
// an agent reads tells of them. Which ones are drawn is a matter of `seed`. Sizes that the spec's constraints refuse
// are left out; so are timed cases that list contents.

// One below and above, primes below and above, 1, the tail of a tile of 64, half and a bit. Of each timed case that
// fits into `bytes` with its slice axis cut where need be; at most `count`, over all axes and kinds.
std::vector<Case> neighbours(const Spec& spec, const std::vector<Case>& timed, std::uint64_t seed, std::int64_t bytes,
                             std::size_t count);

// A timed case with every float scalar a little below what the spec lists, and one with every pitch that some case sets
// itself (see pitch_axes) at a value that no case has. For a kernel that knows the listed ones.
std::vector<Case> other_choices(const Spec& spec, const std::vector<Case>& timed, std::uint64_t seed,
                                std::int64_t bytes);

// Expr axes that only say how far apart the elements of a tensor lie: they occur in strides, and in no extent and no
// other axis.
std::vector<std::string> pitch_axes(const Spec& spec);
// How far an expr axis of a case is from what its expression gives there; 0 for other axes.
std::int64_t away_from_expression(const Spec& spec, const Case& of, const std::string& axis);

// A neighbour near enough that a kernel should not be much slower there: one axis by at most one, or to the next prime.
struct CloseNeighbour {
  std::size_t of = 0;  // index into `timed`
  Case neighbour;
};
std::vector<CloseNeighbour> close_neighbours(const Spec& spec, const std::vector<Case>& timed, std::uint64_t seed,
                                             std::int64_t bytes);

// A timed case grown along the reference's slice axis until a tensor has more than 2^31 elements, where the device's
// memory holds that with room for a reference; nullopt: it does not, the spec has no such axis, or nothing that it
// times has a quarter of that: a kernel for small sizes may count in 32 bits.
std::optional<Case> beyond_32_bits(const Spec& spec, const std::vector<Case>& timed, const DeviceFacts& facts);

// A timed case cut along the reference's slice axis to at most `elements`: its other extents are the timed ones.
std::optional<Case> slim(const Spec& spec, const Case& timed, std::int64_t elements);

}  // namespace kf
