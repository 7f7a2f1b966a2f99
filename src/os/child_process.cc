// SPDX-License-Identifier: Apache-2.0
#include "os/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/stop_descriptor.h"

namespace kf {
namespace {

constexpr unsigned kCloseRangeCloexec = 1U << 2;  // CLOSE_RANGE_CLOEXEC

// Everything that the child needs between fork and exec, made before the fork: with threads around, only
// async-signal-safe calls are allowed there, and malloc is none.
struct Prepared {
  std::vector<char*> argv, envp;
  std::vector<std::pair<int, int>> moves;  // {source, target}; targets 0, 1, 2 and the options' numbers
  std::vector<int> staged;                 // room for the duplicated sources
  int highest_target = 2;
  pid_t parent = 0;
  int report = -1;  // errno of a failed step goes here
};

[[noreturn]] void fail(const Prepared& prepared, char step) {
  const int number = errno;
  char message[1 + sizeof number];
  message[0] = step;
  std::memcpy(message + 1, &number, sizeof number);
  (void)!::write(prepared.report, message, sizeof message);
  ::_exit(127);
}

void limit(const Prepared& prepared, int resource, const std::optional<std::uint64_t>& value) {
  if (value) {
    rlimit now{};
    ::getrlimit(static_cast<__rlimit_resource_t>(resource), &now);
    const rlim_t lower = std::min<rlim_t>(*value, now.rlim_max);  // one that we are under ourselves can't be raised
    const rlimit both{lower, lower};
    if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &both) != 0) {
      fail(prepared, 'l');
    }
  }
}

void default_signals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);  // SIGKILL and SIGSTOP refuse, which is right
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Sources are first copied above every target, so that no move overwrites a source that is still needed.
void move_descriptors(Prepared& prepared) {
  for (std::size_t i = 0; i < prepared.moves.size(); ++i) {
    prepared.staged[i] = ::fcntl(prepared.moves[i].first, F_DUPFD_CLOEXEC, prepared.highest_target + 1);
    if (prepared.staged[i] < 0) {
      fail(prepared, 'd');
    }
  }
  const int report = ::fcntl(prepared.report, F_DUPFD_CLOEXEC, prepared.highest_target + 1);
  if (report >= 0) {
    prepared.report = report;
  }
  for (std::size_t i = 0; i < prepared.moves.size(); ++i) {
    if (::dup2(prepared.staged[i], prepared.moves[i].second) < 0) {
      fail(prepared, 'd');
    }
  }
}

// Marks (or closes) every descriptor above 2 that is no target.
void drop_descriptors(const Prepared& prepared, bool close_now) {
  const auto is_target = [&](int fd) {
    return std::ranges::any_of(prepared.moves, [fd](const auto& move) { return move.second == fd; });
  };
  const unsigned flags = close_now ? 0U : kCloseRangeCloexec;
  int first = 3;
  for (int fd = 3; fd <= prepared.highest_target + 1; ++fd) {
    if (fd > prepared.highest_target || is_target(fd)) {
      if (first < fd) {
        ::syscall(SYS_close_range, first, fd - 1, flags);
      }
      first = fd + 1;
    }
  }
  ::syscall(SYS_close_range, std::max(3, prepared.highest_target + 1), ~0U, flags);
}

void become_child(const ChildOptions& options, Prepared& prepared) {
  ::setpgid(0, 0);
  if (options.die_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != prepared.parent) {
      ::_exit(127);  // the parent died before the line above
    }
  }
  default_signals();
  move_descriptors(prepared);
  if (!options.working_directory.empty() && ::chdir(options.working_directory.c_str()) != 0) {
    fail(prepared, 'c');
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  limit(prepared, RLIMIT_CPU, options.cpu_seconds);
  limit(prepared, RLIMIT_FSIZE, options.file_size_bytes);
  limit(prepared, RLIMIT_NOFILE, options.open_files);
  limit(prepared, RLIMIT_AS, options.address_space_bytes);
}

std::string step_name(char step, const ChildOptions& options) {
  switch (step) {
    case 'c':
      return "cannot change to the folder " + options.working_directory;
    case 'd':
      return "cannot hand over a descriptor";
    case 'l':
      return "cannot set a resource limit";
    default:
      return "cannot execute";
  }
}

struct Streams {
  Descriptor child[3], parent[3];
  std::vector<std::pair<int, int>> moves;
};

OrError<Streams> make_streams(const ChildOptions& options) {
  Streams streams;
  const Stream wanted[3] = {options.in, options.out, options.err};
  for (int fd = 0; fd < 3; ++fd) {
    switch (wanted[fd]) {
      case Stream::kNull:
        streams.child[fd].reset(::open("/dev/null", (fd == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC));
        if (!streams.child[fd]) {
          return std::unexpected(system_error("open /dev/null"));
        }
        break;
      case Stream::kPipe: {
        OrError<DescriptorPair> pipe = make_pipe();
        if (!pipe) {
          return std::unexpected(pipe.error());
        }
        streams.child[fd] = std::move(fd == 0 ? pipe->read : pipe->write);
        streams.parent[fd] = std::move(fd == 0 ? pipe->write : pipe->read);
        break;
      }
      case Stream::kInherit:
      case Stream::kToStderr:
        break;
    }
    const int source = wanted[fd] == Stream::kInherit ? fd : streams.child[fd].get();
    if (source >= 0) {
      streams.moves.emplace_back(source, fd);
    }
  }
  for (int fd = 0; fd < 3; ++fd) {
    if (wanted[fd] == Stream::kToStderr) {
      const int source = options.err == Stream::kInherit ? 2 : streams.child[2].get();
      streams.moves.emplace_back(source, fd);
    }
  }
  return streams;
}

void point_at(std::vector<char*>& pointers, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
}

}  // namespace

std::string to_string(const ChildExit& exit) {
  return exit.signal == 0 ? "exit code " + std::to_string(exit.code)
                          : "signal " + std::to_string(exit.signal) + " (" + ::strsignal(exit.signal) + ")";
}

std::vector<std::string> environment_where(const std::function<bool(std::string_view name)>& keep) {
  std::vector<std::string> kept;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (keep(text.substr(0, text.find('=')))) {
      kept.emplace_back(text);
    }
  }
  return kept;
}

OrError<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  if (options.argv.empty()) {
    return std::unexpected(Error{"", "no program to execute", "argv names it"});
  }
  return launch(options, nullptr);
}

OrError<ChildProcess> ChildProcess::fork(const ChildOptions& options, const std::function<int()>& body) {
  return launch(options, &body);
}

OrError<ChildProcess> ChildProcess::launch(const ChildOptions& options, const std::function<int()>* body) {
  OrError<Streams> streams = make_streams(options);
  OrError<DescriptorPair> report = make_pipe();
  if (!streams || !report) {
    return std::unexpected(streams ? report.error() : streams.error());
  }
  const std::vector<std::string> environment =
      options.inherit_environment ? environment_where([](std::string_view) { return true; }) : options.environment;
  Prepared prepared;
  point_at(prepared.argv, options.argv);
  point_at(prepared.envp, environment);
  prepared.moves = streams->moves;
  prepared.moves.insert(prepared.moves.end(), options.descriptors.begin(), options.descriptors.end());
  prepared.staged.resize(prepared.moves.size());
  for (const auto& move : prepared.moves) {
    prepared.highest_target = std::max(prepared.highest_target, move.second);
  }
  prepared.parent = ::getpid();
  prepared.report = report->write.get();

  ChildProcess child;
  child.pid_ = ::fork();
  if (child.pid_ < 0) {
    return std::unexpected(system_error("fork"));
  }
  if (child.pid_ == 0) {
    become_child(options, prepared);
    drop_descriptors(prepared, body != nullptr);
    if (body == nullptr) {
      ::execvpe(prepared.argv[0], prepared.argv.data(), prepared.envp.data());
      fail(prepared, 'x');
    }
    ::environ = prepared.envp.data();
    int code = 1;
    try {
      code = (*body)();
    } catch (...) {
      code = 1;
    }
    ::_exit(code);
  }
  ::setpgid(child.pid_, child.pid_);  // also here: a kill right away must find the group
  child.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
  if (!child.pidfd_) {
    return std::unexpected(system_error("pidfd_open"));
  }
  report->write.reset();
  for (Descriptor& end : streams->child) {
    end.reset();
  }
  const OrError<std::string> failure = read_some(report->read.get(), 16);
  if (failure && failure->size() == 1 + sizeof(int)) {
    std::memcpy(&errno, failure->data() + 1, sizeof(int));
    Error error = system_error(step_name((*failure)[0], options));
    error.where = options.argv.empty() ? "child process" : options.argv.front();
    return std::unexpected(std::move(error));
  }
  child.in_ = std::move(streams->parent[0]);
  child.out_ = std::move(streams->parent[1]);
  child.err_ = std::move(streams->parent[2]);
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      exit_(std::exchange(other.exit_, std::nullopt)),
      pidfd_(std::move(other.pidfd_)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    this->~ChildProcess();
    new (this) ChildProcess(std::move(other));
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !exit_) {
    kill();
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
    }
  }
}

std::optional<ChildExit> ChildProcess::wait(std::chrono::milliseconds time, const std::stop_token& stop) {
  if (exit_) {
    return exit_;
  }
  if (wait_readable(pidfd_.get(), time, stop) != Ready::kReadable) {
    return std::nullopt;
  }
  kill();  // what is left of the group; the leader is not reaped yet, so its number cannot belong to another group
  siginfo_t info{};
  rusage used{};
  while (::syscall(SYS_waitid, P_PID, pid_, &info, WEXITED, &used) != 0) {  // glibc's waitid hides the usage
    if (errno != EINTR) {
      throw Fatal(to_string(system_error("waitid")));
    }
  }
  exit_ = info.si_code == CLD_EXITED ? ChildExit{info.si_status, 0, used.ru_maxrss * 1024}
                                     : ChildExit{0, info.si_status, used.ru_maxrss * 1024};
  return exit_;
}

bool ChildProcess::is_stopped() const {
  siginfo_t info{};
  return pid_ > 0 && !exit_ && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

std::chrono::milliseconds ChildProcess::processor_time() const {
  clockid_t clock{};
  timespec used{};
  if (pid_ <= 0 || exit_ || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return std::chrono::milliseconds(0);
  }
  return std::chrono::milliseconds(std::int64_t{used.tv_sec} * 1000 + used.tv_nsec / 1'000'000);
}

void ChildProcess::kill() {
  if (pid_ > 0 && !exit_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
  }
}

}  // namespace kf
