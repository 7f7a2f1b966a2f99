// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>

#include "block.h"

namespace kf::emulator {

// Storage of one cluster of the launch; later clusters use it again.
std::unique_ptr<Cluster> make_cluster(Launch& launch);
// Makes it the cluster with this number, in the order in which hardware dispatches them, before its first instruction.
void start_cluster(Cluster& cluster, std::uint64_t number);
// How many clusters the launch has.
std::uint64_t clusters_of(const LaunchShape& shape);
std::size_t storage_bytes(const Block& block);

}  // namespace kf::emulator
