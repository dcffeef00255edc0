// The license of a program: the C++ binding of licensekit.h, which says what each function
// does. For C++17, without a library beside that one.
//
//   licensekit::License lic(R"({"url":"https://acme.example/licensing","keys":{…},"product_id":"atlas"})");
//   if (lic.has("export")) …
#ifndef LICENSEKIT_HPP
#define LICENSEKIT_HPP

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "licensekit.h"

namespace licensekit {

// Why a call had no effect: code is for the program, what() one sentence for the user.
class Error : public std::runtime_error {
public:
	explicit Error(const lk_reason &why) : std::runtime_error(why.message), code(why.code) {}
	std::string code;
};

// A status, of one moment.
struct Check {
	bool valid;
	std::string code, message;
};

inline std::string version() { return lk_version(); }

// taken returns a text of the library, and frees it.
inline std::optional<std::string> taken(char *text) {
	if (!text) return std::nullopt;
	std::string s(text);
	lk_free(text);
	return s;
}

// Returns the claims of a license file as JSON.
inline std::string verify(const std::string &keys, const std::string &file, const std::string &expect) {
	lk_reason why;
	auto claims = taken(lk_verify(keys.c_str(), file.c_str(), expect.c_str(), &why));
	if (!claims) throw Error(why);
	return *claims;
}

// A License can be moved, not copied, and closes itself.
class License {
	template <typename F> License(F open, const std::string &text) {
		lk_reason why;
		if (!(handle = open(text.c_str(), &why))) throw Error(why);
	}
	template <typename F, typename... A> auto call(F f, A... args) {
		lk_reason why;
		auto result = f(handle, args..., &why);
		if (!result) throw Error(why);
		return result;
	}
	lk_license handle = 0;
	std::vector<std::thread> watchers;

public:
	// Takes the options of lk_open in JSON.
	explicit License(const std::string &options) : License(lk_open, options) {}
	static License fixed(const std::string &status) { return License(lk_fixed, status); }

	License(License &&other) noexcept : handle(std::exchange(other.handle, 0)), watchers(std::move(other.watchers)) {}
	License &operator=(License &&other) noexcept {
		std::swap(handle, other.handle);
		std::swap(watchers, other.watchers);
		return *this;
	}
	~License() { close(); }

	bool close() {
		bool open = lk_close(handle);
		for (auto &w : std::exchange(watchers, {})) w.get_id() == std::this_thread::get_id() ? w.detach() : w.join();
		return open;
	}

	Check check() const {
		lk_reason why;
		bool valid = lk_valid(handle, &why);
		return {valid, why.code, why.message};
	}
	bool valid() const { return lk_valid(handle, nullptr); }
	std::string message() const { return check().message; } // for the user
	int64_t valid_until() const { return lk_valid_until(handle); }
	std::string status() const { return taken(lk_status(handle)).value_or("null"); } // JSON
	bool has(const char *entitlement) const { return lk_has(handle, entitlement); }
	std::optional<double> number(const char *entitlement) const {
		double value;
		if (!lk_number(handle, entitlement, &value)) return std::nullopt;
		return value;
	}
	std::optional<std::string> text(const char *entitlement) const { return taken(lk_text(handle, entitlement)); }

	void set_key(const std::string &key, int timeout_ms = 0) { call(lk_set_key, key.c_str(), timeout_ms); }
	void take_over(int timeout_ms = 0) { call(lk_take_over, timeout_ms); }
	void release(int timeout_ms = 0) { call(lk_release, timeout_ms); }
	void refresh(int timeout_ms = 0) { call(lk_refresh, timeout_ms); }
	std::string link(int timeout_ms = 0) { return *taken(call(lk_link, timeout_ms)); } // JSON
	void link_wait(int timeout_ms = 600000) { call(lk_link_wait, timeout_ms); }
	std::string devices(int timeout_ms = 0) { return *taken(call(lk_devices, timeout_ms)); } // JSON
	void free_device(const std::string &id, int timeout_ms = 0) { call(lk_free_device, id.c_str(), timeout_ms); }
	std::string request() { return *taken(call(lk_request)); }
	void install(const std::string &text) { call(lk_install, text.c_str()); }
	void use(const char *meter, int64_t n = 1, int timeout_ms = 0) { call(lk_use, meter, n, timeout_ms); }
	bool count(const char *meter, int64_t n = 1) { return lk_count(handle, meter, n); }

	// Calls f on a thread of its own after each change, until close.
	void on_change(std::function<void()> f) {
		watchers.emplace_back([h = handle, f = std::move(f)] {
			for (uint64_t seen = lk_wait(h, 0, 0); seen;) {
				if ((seen = lk_wait(h, seen, -1))) f();
			}
		});
	}
};

} // namespace licensekit
#endif
