// SPDX-License-Identifier: Apache-2.0
#include <kfactory/agent.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "agent/fenced_block.h"
#include "agent/prompts.h"

namespace kf {
namespace {

constexpr const char* kName = "candidate.cu";
constexpr std::string_view kPlanMark = "/*kfactory";
constexpr const char* kContract = "answer with exactly one block, opened by ```cuda, that holds the whole file";

bool has_plan(const FencedBlock& block) {
  return block.text.find(kPlanMark) != std::string::npos;
}

// Blocks in other languages (a plan by itself, a sketch of output) are not taken for the candidate.
bool is_device_code(const FencedBlock& block) {
  constexpr std::array<std::string_view, 10> kLanguages{"cuda", "cu", "cuh", "cpp", "c++",
                                                        "cxx",  "cc", "c",   "hpp", "h"};
  return has_plan(block) || std::ranges::find(kLanguages, block.language) != kLanguages.end();
}

std::string line_of(std::string_view text, int number) {
  for (int i = 1; i < number && !text.empty(); ++i) {
    const std::size_t end = text.find('\n');
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return safe_line(text.substr(0, text.find('\n')), 160);
}

std::unexpected<Errors> refuse(std::string where, std::string what, std::string hint) {
  return std::unexpected(Errors{{std::move(where), std::move(what), std::move(hint)}});
}

// The line number in "candidate.cu:12: $.kernels[0]"; 0 when there is none.
int line_number(const std::string& where) {
  const std::string start = std::string(kName) + ":";
  int number = 0;
  if (where.starts_with(start)) {
    std::from_chars(where.data() + start.size(), where.data() + where.size(), number);
  }
  return number;
}

// Each error with the line that it is about, so that the re-ask can be answered without counting lines.
Errors with_quotes(Errors errors, std::string_view source) {
  for (Error& error : errors) {
    const int number = line_number(error.where);
    const std::string line = number > 0 ? line_of(source, number) : "";
    if (!line.empty()) {
      error.what += "; line " + std::to_string(number) + " reads: " + line;
    }
  }
  return errors;
}

// A file cut off in the middle has open braces. Comments and literals may fool this; the compiler has the last word.
bool looks_whole(std::string_view source) {
  return std::ranges::count(source, '{') == std::ranges::count(source, '}') &&
         source.find('{') != std::string_view::npos;
}

OrErrors<FencedBlock> the_block(std::string_view answer) {
  std::vector<FencedBlock> blocks = fenced_blocks(answer);
  const bool plan_apart = std::ranges::any_of(blocks, [](const FencedBlock& block) {
    return !is_device_code(block) && block.text.find("\"kernels\"") != std::string::npos;
  });
  std::erase_if(blocks, [](const FencedBlock& block) { return !is_device_code(block); });
  if (blocks.size() > 1) {
    Errors errors;
    for (const FencedBlock& block : blocks) {
      errors.push_back({"answer:" + std::to_string(block.line),
                        "one of " + std::to_string(blocks.size()) + " code blocks: " + safe_line(block.opening, 60) +
                            " / " + line_of(block.text, 1),
                        kContract});
    }
    return std::unexpected(std::move(errors));
  }
  if (blocks.empty()) {
    const std::size_t plan = answer.find(kPlanMark);
    if (plan != std::string_view::npos && answer.find_first_not_of(" \t\r\n") == plan) {  // the bare file
      std::string text;
      std::ranges::copy_if(answer, std::back_inserter(text), [](char c) { return c != '\r'; });
      return FencedBlock{1, "", "", std::move(text), true};
    }
    return refuse("answer",
                  answer.find_first_not_of(" \t\r\n") == std::string_view::npos ? "the answer is empty"
                                                                                : "there is no code block",
                  kContract);
  }
  FencedBlock& block = blocks.front();
  if (!has_plan(block)) {
    return refuse("answer:" + std::to_string(block.line), "the code block has no /*kfactory ... */ launch plan",
                  plan_apart
                      ? "the plan stands in a block of its own: put it into a /*kfactory ... */ comment of the file"
                      : "start the file with /*kfactory { \"plan\": 1, ... } */");
  }
  if (!block.closed && !looks_whole(block.text)) {
    return refuse("answer:" + std::to_string(block.line),
                  "the code block is not closed and its braces are not balanced: the answer was cut off after " +
                      std::to_string(block.text.size()) + " bytes of code",
                  "shorten the reasoning and the file");
  }
  return std::move(block);
}

}  // namespace

OrErrors<Candidate> read_candidate(std::string_view answer) {
  OrErrors<FencedBlock> block = the_block(answer);
  if (!block) {
    return std::unexpected(std::move(block.error()));
  }
  OrErrors<Candidate> candidate = parse_candidate(block->text, kName);
  if (!candidate) {
    return std::unexpected(with_quotes(std::move(candidate.error()), block->text));
  }
  return candidate;
}

}  // namespace kf
