#include <atomic>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "licensekit.hpp"

using Args = std::vector<std::string>;
static std::unique_ptr<licensekit::License> lic;
static std::atomic<int> noticed;

static std::string truth(bool b) { return b ? "true" : "false"; }

static std::string run(const Args &a) {
	const std::string &c = a[0];
	if (c == "open") lic = std::make_unique<licensekit::License>(a[1]);
	else if (c == "fixed") lic = std::make_unique<licensekit::License>(licensekit::License::fixed(a[1]));
	else if (c == "valid") {
		auto s = lic->check();
		return truth(s.valid) + " " + s.code + " " + s.message;
	} else if (c == "valid_until") return std::to_string(lic->valid_until());
	else if (c == "status") return lic->status();
	else if (c == "has") return truth(lic->has(a[1].c_str()));
	else if (c == "number") {
		auto v = lic->number(a[1].c_str());
		if (!v) return "none";
		std::ostringstream out;
		out << std::setprecision(15) << *v;
		return out.str();
	} else if (c == "text") return lic->text(a[1].c_str()).value_or("none");
	else if (c == "set_key") lic->set_key(a[1], std::stoi(a[2]));
	else if (c == "take_over") lic->take_over(std::stoi(a[1]));
	else if (c == "release") lic->release(std::stoi(a[1]));
	else if (c == "refresh") lic->refresh(std::stoi(a[1]));
	else if (c == "link") return lic->link();
	else if (c == "link_wait") lic->link_wait(std::stoi(a[1]));
	else if (c == "devices") return lic->devices(std::stoi(a[1]));
	else if (c == "free_device") lic->free_device(a[1], std::stoi(a[2]));
	else if (c == "request") return lic->request();
	else if (c == "install") lic->install(a[1]);
	else if (c == "use") lic->use(a[1].c_str(), std::stoll(a[2]), std::stoi(a[3]));
	else if (c == "count") return truth(lic->count(a[1].c_str(), std::stoll(a[2])));
	else if (c == "verify") return licensekit::verify(a[1], a[2], a[3]);
	else if (c == "watch") lic->on_change([] { noticed++; });
	else if (c == "noticed") return std::to_string(noticed);
	else if (c == "close") return truth(lic->close());
	else if (c == "version") return licensekit::version();
	else if (c == "null") return "caught"; // no language of exceptions for that
	return "ok";
}

int main() {
	for (std::string line; std::getline(std::cin, line);) {
		Args args;
		std::istringstream in(line);
		for (std::string s; std::getline(in, s, '\t');) args.push_back(s);
		args.resize(5);
		try {
			std::cout << run(args) << std::endl;
		} catch (const licensekit::Error &e) {
			std::cout << "!" << e.code << " " << e.what() << std::endl;
		}
	}
}
