// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <kfactory/error.h>
#include "os/descriptor.h"

namespace kf {

// Where one of the child's standard streams leads. kPipe: to the ChildProcess' in(), out() or err().
enum class Stream : std::uint8_t { kNull, kInherit, kPipe, kToStderr };

struct ChildOptions {
  std::vector<std::string> argv;         // start(): the program and its arguments; looked up in PATH without a slash
  std::vector<std::string> environment;  // "NAME=value": all of it, nothing is inherited
  bool inherit_environment = false;      // ... unless this says so (then `environment` is not read)
  Stream in = Stream::kNull, out = Stream::kInherit, err = Stream::kInherit;
  std::vector<std::pair<int, int>> descriptors;  // {ours, number in the child}; no other is inherited
  std::string working_directory;                 // empty: ours
  std::optional<std::uint64_t> address_space_bytes, cpu_seconds, file_size_bytes, open_files;
  // The child gets SIGKILL when the *thread* that started it ends (PR_SET_PDEATHSIG): only for threads that live as
  // long as the child should.
  bool die_with_parent = false;
};

// How a child ended.
struct ChildExit {
  int code = 0;                 // of _exit, when signal == 0
  int signal = 0;               // that ended it
  std::int64_t peak_bytes = 0;  // largest resident set
  bool ok() const { return signal == 0 && code == 0; }
};
// "exit code 3", "signal 11 (Segmentation fault)".
std::string to_string(const ChildExit& exit);

// "NAME=value" of every variable of our own environment that `keep` accepts.
std::vector<std::string> environment_where(const std::function<bool(std::string_view name)>& keep);

// A child in a process group of its own. The destructor kills the whole group and reaps the child. Core dumps are
// off, signal handlers and masks are back at their defaults in the child. Not thread-safe, except kill().
class ChildProcess {
 public:
  // Executes options.argv. Safe in a program with threads. A program that cannot be executed is an error here.
  static OrError<ChildProcess> start(const ChildOptions& options);
  // Runs `body` in a copy of this process and exits with its result (1 when it throws), without static destructors.
  // Only for programs with one thread: a lock that another thread holds at that moment is held for ever in the copy.
  static OrError<ChildProcess> fork(const ChildOptions& options, const std::function<int()>& body);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // readable once the child has ended
  Descriptor& in() { return in_; }            // write end of its stdin
  Descriptor& out() { return out_; }          // read ends
  Descriptor& err() { return err_; }

  // Waits for the end of the child; then kills what is left of its group, and reaps it. nullopt: still running when
  // the time was over or a stop was requested (nothing is killed then). Negative time: no limit.
  std::optional<ChildExit> wait(std::chrono::milliseconds time, const std::stop_token& stop = {});
  // Whether the child stands still after SIGSTOP or the like, so that a missed deadline is nothing that it did.
  bool is_stopped() const;
  // Processor time of the child itself so far, all its threads together; 0 once it was waited for.
  std::chrono::milliseconds processor_time() const;
  // SIGKILL to the whole group. A descendant that made its own group or session escapes; its sandbox and the end of
  // its pipes have to do the rest.
  void kill();

 private:
  ChildProcess() = default;
  static OrError<ChildProcess> launch(const ChildOptions& options, const std::function<int()>* body);
  pid_t pid_ = -1;
  std::optional<ChildExit> exit_;
  Descriptor pidfd_, in_, out_, err_;
};

}  // namespace kf
