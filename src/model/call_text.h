// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include <kfactory/model.h>

namespace kf {

// The request as Markdown for people and programs: instructions, task, question, in this order.
std::string markdown_of(const ModelCall& call);

// Invalid UTF-8 becomes U+FFFD; a byte-order mark is dropped; CRLF becomes LF.
std::string clean_text(std::string_view bytes);

// A reply that came without a server's word about it: estimated usage.
Reply plain_reply(std::string text, const ModelCall& call, std::string_view model);

}  // namespace kf
