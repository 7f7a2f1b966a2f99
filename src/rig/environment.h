// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace kf {

// Names that look like a credential: *_API_KEY, *_TOKEN, *SECRET*, *PASSWORD*, *CREDENTIAL*, *_KEY, AWS_*, ...
bool names_a_secret(std::string_view name);
// What a worker started directly may see: how to find programs, libraries and devices. No secret, ever.
bool worker_may_see(std::string_view name);
// A launcher (srun, ssh) needs more of the user's environment than can be listed: everything but secrets.
bool launcher_may_see(std::string_view name);

}  // namespace kf
