// SPDX-License-Identifier: Apache-2.0
#include "curl_http.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <utility>

#include "curl_library.h"

namespace kf {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Curl = std::shared_ptr<const CurlLibrary>;
constexpr Milliseconds kLinger{250};                 // for the end of a body of which enough is known
constexpr std::size_t kMostHeaderBytes = 256 << 10;  // of one exchange, interim answers included
constexpr Milliseconds kLongestPoll{1'000};          // a stop request wakes the poll; this only bounds a lost wake-up

// A multi handle owns the connections that its transfers leave open; it is reused by later requests.
struct MultiDeleter {
  Curl curl;
  void operator()(CURLM* multi) const { curl->multi_cleanup(multi); }
};
using Multi = std::unique_ptr<CURLM, MultiDeleter>;
struct EasyDeleter {
  Curl curl;
  void operator()(CURL* easy) const { curl->easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;
struct ListDeleter {
  Curl curl;
  void operator()(curl_slist* list) const { curl->slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, ListDeleter>;

// One request on its way. Everything here is used by the asking thread alone.
struct Transfer {
  const HttpRequest& request;
  HttpReceiver& receiver;
  Clock& clock;
  HttpHead head;
  std::chrono::steady_clock::time_point last_activity{};
  std::int64_t received = 0;
  std::size_t header_bytes = 0;
  curl_off_t uploaded = 0;
  bool head_delivered = false, head_complete = false, enough = false, too_large = false;
  std::exception_ptr thrown;  // by the receiver: must not cross libcurl's frames

  void touch() { last_activity = clock.now(); }
};

// libcurl calls this for each header line, those of 1xx answers and of the proxy's answer to CONNECT too.
std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  transfer.touch();
  transfer.header_bytes += size;
  if (transfer.header_bytes > kMostHeaderBytes) {  // older libraries limit a line, not their sum
    return 0;
  }
  std::string_view line(data, size);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) {
    line.remove_suffix(1);
  }
  if (line.starts_with("HTTP/")) {
    transfer.head = {};
    transfer.head_complete = false;
  } else if (line.empty()) {
    transfer.head_complete = true;
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t", colon + 1)));
    transfer.head.headers.emplace_back(std::move(name), std::string(line));
  }
  return size;
}

void deliver_head(Transfer& transfer, long status) {
  if (!std::exchange(transfer.head_delivered, true)) {
    transfer.head.status = static_cast<int>(status);
    transfer.receiver.on_head(transfer.head);
  }
}

struct BodySink {
  Transfer& transfer;
  const CurlLibrary& curl;
  CURL* easy;
};

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  BodySink& sink = *static_cast<BodySink*>(user);
  Transfer& transfer = sink.transfer;
  transfer.touch();
  transfer.received += static_cast<std::int64_t>(size);
  if (transfer.received > transfer.request.largest_response) {
    transfer.too_large = true;
    return 0;
  }
  try {
    long status = 0;
    sink.curl.easy_getinfo(sink.easy, CURLINFO_RESPONSE_CODE, &status);
    deliver_head(transfer, status);
    if (!transfer.enough) {
      transfer.enough = transfer.receiver.on_bytes({data, size}) == Wanted::kEnough;
    }
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 0;
  }
  return size;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t uploaded) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  if (std::exchange(transfer.uploaded, uploaded) != uploaded) {
    transfer.touch();
  }
  return 0;
}

HttpFault::Kind fault_kind(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:  // a handshake cut short; a certificate that does not fit is below
    case CURLE_URL_MALFORMAT:
      return HttpFault::Kind::kConnect;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpFault::Kind::kTls;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFault::Kind::kTimeout;
    case CURLE_UNSUPPORTED_PROTOCOL:  // "HTTP/0.9": the answer had no status line
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_BAD_CONTENT_ENCODING:
      return HttpFault::Kind::kMalformed;
    default:
      return HttpFault::Kind::kReset;
  }
}

class CurlHttp : public Http {
 public:
  CurlHttp(Clock& clock, std::string ca_file) : clock_(clock), ca_file_(std::move(ca_file)) {}

  std::optional<HttpFault> send(const HttpRequest& request, HttpReceiver& receiver, std::stop_token stop) override;

 private:
  OrError<Multi> take_multi();
  void give_back(Multi multi);
  void set_options(const CurlLibrary& curl, CURL* easy, const HttpRequest& request, curl_slist* headers,
                   Transfer& transfer) const;
  std::optional<HttpFault> wait(const CurlLibrary& curl, CURLM* multi, CURL* easy, Transfer& transfer,
                                const std::stop_token& stop, bool& reusable);
  std::optional<HttpFault> finished(const CurlLibrary& curl, CURL* easy, Transfer& transfer, CURLcode code,
                                    const char* detail);

  Clock& clock_;
  const std::string ca_file_;
  std::mutex mutex_;
  Curl curl_;
  std::vector<Multi> idle_;
};

OrError<Multi> CurlHttp::take_multi() {
  const std::lock_guard lock(mutex_);
  if (!curl_) {
    auto opened = CurlLibrary::open();
    if (!opened) {
      return std::unexpected(opened.error());
    }
    curl_ = *opened;
  }
  if (!idle_.empty()) {
    Multi multi = std::move(idle_.back());
    idle_.pop_back();
    return multi;
  }
  return Multi(curl_->multi_init(), MultiDeleter{curl_});
}

void CurlHttp::give_back(Multi multi) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(multi));
}

void CurlHttp::set_options(const CurlLibrary& curl, CURL* easy, const HttpRequest& request, curl_slist* headers,
                           Transfer& transfer) const {
  const auto set = [&](CURLoption option, auto value) { return curl.easy_setopt(easy, option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTPHEADER, headers);
  if (request.method == "POST") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, request.body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  } else {
    set(CURLOPT_HTTPGET, 1L);
  }
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
  if (set(CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK)
#endif
  {
    set(static_cast<CURLoption>(181), 3L);  // CURLOPT_PROTOCOLS of older libraries: CURLPROTO_HTTP | CURLPROTO_HTTPS
  }
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!ca_file_.empty()) {
    set(CURLOPT_CAINFO, ca_file_.c_str());
  }
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.timeouts.connect.count()));
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
#if LIBCURL_VERSION_NUM >= 0x075700
  set(CURLOPT_QUICK_EXIT, 1L);  // a stop need not wait for a name server
#endif
}

std::optional<HttpFault> CurlHttp::send(const HttpRequest& request, HttpReceiver& receiver, std::stop_token stop) {
  OrError<Multi> multi = take_multi();
  if (!multi) {
    return HttpFault{HttpFault::Kind::kUnavailable, to_string(multi.error())};
  }
  const Curl curl = multi->get_deleter().curl;
  const Easy easy(curl->easy_init(), EasyDeleter{curl});
  List headers(nullptr, ListDeleter{curl});
  const auto add_header = [&](const std::string& line) {
    curl_slist* const longer = curl->slist_append(headers.get(), line.c_str());
    (void)headers.release();
    headers.reset(longer);
  };
  for (const HttpHeader& header : request.headers) {
    add_header(header.name + ": " + header.value + header.secret.reveal());
  }
  add_header("Expect:");  // no 100-continue round trip

  Transfer transfer{.request = request, .receiver = receiver, .clock = clock_};
  BodySink sink{transfer, *curl, easy.get()};
  char detail[CURL_ERROR_SIZE] = "";
  set_options(*curl, easy.get(), request, headers.get(), transfer);
  curl->easy_setopt(easy.get(), CURLOPT_WRITEDATA, static_cast<void*>(&sink));
  curl->easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail);

  bool reusable = false;
  curl->multi_add_handle(multi->get(), easy.get());
  std::optional<HttpFault> fault = wait(*curl, multi->get(), easy.get(), transfer, stop, reusable);
  curl->multi_remove_handle(multi->get(), easy.get());
  if (reusable) {
    give_back(std::move(*multi));
  }
  if (transfer.thrown) {
    std::rethrow_exception(transfer.thrown);
  }
  const bool from_curl = fault && (fault->kind == HttpFault::Kind::kReset || fault->kind == HttpFault::Kind::kConnect ||
                                   fault->kind == HttpFault::Kind::kTls || fault->kind == HttpFault::Kind::kMalformed);
  if (from_curl && detail[0] != '\0') {
    fault->message = detail;
  }
  return fault;
}

std::optional<HttpFault> CurlHttp::wait(const CurlLibrary& curl, CURLM* multi, CURL* easy, Transfer& transfer,
                                        const std::stop_token& stop, bool& reusable) {
  const std::stop_callback wake(stop, [&curl, multi] { curl.multi_wakeup(multi); });
  const auto start = clock_.now();
  auto enough_since = start;
  bool enough = false;
  transfer.touch();
  const auto in_words = [](Milliseconds time) {
    const std::int64_t count = time.count();
    return count % 1'000 == 0 ? std::to_string(count / 1'000) + " s" : std::to_string(count) + " ms";
  };
  const auto fault = [&](HttpFault::Kind kind, std::string message) {
    curl_off_t connected = 0;  // microseconds; 0: never
    curl.easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected);
    return HttpFault{kind, std::move(message), connected > 0};
  };
  for (;;) {
    if (stop.stop_requested()) {
      return fault(HttpFault::Kind::kCancelled, "stopped");
    }
    int running = 0;
    if (const CURLMcode code = curl.multi_perform(multi, &running); code != CURLM_OK) {
      return fault(HttpFault::Kind::kReset, "curl_multi_perform failed with code " + std::to_string(code));
    }
    if (running == 0) {
      int left = 0;
      const CURLMsg* const message = curl.multi_info_read(multi, &left);
      const CURLcode code = message != nullptr ? message->data.result : CURLE_FAILED_INIT;
      reusable = true;
      return finished(curl, easy, transfer, code, curl.easy_strerror(code));
    }
    const auto now = clock_.now();
    if (transfer.enough) {
      if (!std::exchange(enough, true)) {
        enough_since = now;
      }
      if (now - enough_since >= kLinger) {
        return std::nullopt;
      }
    }
    if (now - start >= transfer.request.timeouts.total) {
      return fault(HttpFault::Kind::kTimeout,
                   "not finished after " + in_words(transfer.request.timeouts.total) + " (total timeout)");
    }
    if (now - transfer.last_activity >= transfer.request.timeouts.idle) {
      return fault(HttpFault::Kind::kTimeout,
                   "not a byte for " + in_words(transfer.request.timeouts.idle) + " (idle timeout)");
    }
    auto left =
        std::min(start + transfer.request.timeouts.total, transfer.last_activity + transfer.request.timeouts.idle) -
        now;
    if (enough) {
      left = std::min(left, enough_since + kLinger - now);
    }
    const auto poll = std::clamp(std::chrono::ceil<Milliseconds>(left), Milliseconds(1), kLongestPoll);
    curl.multi_poll(multi, nullptr, 0, static_cast<int>(poll.count()), nullptr);
  }
}

std::optional<HttpFault> CurlHttp::finished(const CurlLibrary& curl, CURL* easy, Transfer& transfer, CURLcode code,
                                            const char* detail) {
  if (transfer.too_large) {
    return HttpFault{HttpFault::Kind::kTooLarge,
                     "the response is larger than " + std::to_string(transfer.request.largest_response) + " bytes",
                     true};
  }
  if (transfer.header_bytes > kMostHeaderBytes) {
    return HttpFault{HttpFault::Kind::kTooLarge,
                     "the response's headers are larger than " + std::to_string(kMostHeaderBytes) + " bytes", true};
  }
  if (transfer.thrown || transfer.enough) {
    return std::nullopt;  // what comes after enough is nobody's concern
  }
  long status = 0;
  curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_OK) {
    if (status == 0) {  // HTTP/0.9 and the like
      return HttpFault{HttpFault::Kind::kMalformed, "the answer is not HTTP", true};
    }
    try {
      deliver_head(transfer, status);
    } catch (...) {
      transfer.thrown = std::current_exception();
    }
    return std::nullopt;
  }
  HttpFault fault{fault_kind(code), detail, false};
  if (code == CURLE_OPERATION_TIMEDOUT) {
    fault.message =
        "no connection after " + std::to_string(transfer.request.timeouts.connect.count()) + " ms (connect timeout)";
  } else {
    fault.sent = fault.kind == HttpFault::Kind::kReset || fault.kind == HttpFault::Kind::kMalformed;
  }
  return fault;
}

}  // namespace

std::unique_ptr<Http> curl_http(Clock& clock, std::string ca_file) {
  return std::make_unique<CurlHttp>(clock, std::move(ca_file));
}

}  // namespace kf
