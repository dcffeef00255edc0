// What a user expects of a program's first window, in a terminal: whether it is licensed, how it
// is activated, and on which devices. ./menu options.json: the file has the options of lk_open; a
// real program has them in itself, and reads JSON with a library.
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <vector>

#include "licensekit.hpp"

using licensekit::License;

static std::string ask(const std::string &prompt) {
	std::string line;
	std::cout << prompt << " " << std::flush;
	std::getline(std::cin, line);
	return line;
}

static std::string content(const std::string &path) {
	std::ifstream file(path, std::ios::binary);
	if (!file) throw std::runtime_error(path + " cannot be read");
	std::ostringstream text;
	text << file.rdbuf();
	return text.str();
}

// Returns a text of a JSON object.
static std::string member(const std::string &json, const std::string &name) {
	std::smatch found;
	return std::regex_search(json, found, std::regex("\"" + name + "\":\"([^\"]*)")) ? found[1].str() : "";
}

static void in_the_browser(License &lic) {
	auto link = lic.link();
	std::cout << "Open " << member(link, "url") << " and compare the code: " << member(link, "code") << ". Waiting for the approval ..." << std::endl;
	lic.link_wait();
}

static void with_a_file(License &lic) {
	std::cout << "Send this to the vendor: " << lic.request() << "\n";
	lic.install(content(ask("File that the vendor sent:")));
}

static void devices(License &lic) {
	auto json = lic.devices();
	const std::string begin = "{\"object\":";
	std::vector<std::string> found;
	for (auto at = json.find(begin); at != std::string::npos;) {
		auto next = json.find(begin, at + 1);
		found.push_back(json.substr(at, next - at));
		at = next;
	}
	auto own = [](const std::string &device) { return device.find("\"this\":true") != std::string::npos; };
	for (size_t i = 0; i < found.size(); i++)
		std::cout << i + 1 << " " << member(found[i], "name") << (own(found[i]) ? " (this device)" : "") << "\n";
	size_t n = std::atoi(ask("Free the seat of number (Enter: none):").c_str()) - 1;
	if (n >= found.size()) return;
	lic.free_device(member(found[n], "id"));
	if (!own(found[n])) lic.refresh(); // takes the seat
}

int main(int argc, char **argv) try {
	License lic(content(argc > 1 ? argv[1] : "options.json"));
	for (std::string choice = " "; choice != "0" && choice != "";) try {
			auto state = lic.check();
			std::cout << (state.valid ? "\nLicensed. " : "\nNot licensed. ") << state.message
				  << "\n1 Activate in the browser\n2 Enter a license key\n3 Install a license file\n4 Check again\n5 Devices\n0 Quit\n";
			choice = ask("Choose:");
			if (choice == "1") in_the_browser(lic);
			if (choice == "2") lic.set_key(ask("License key:"));
			if (choice == "3") with_a_file(lic);
			if (choice == "4") lic.refresh();
			if (choice == "5") devices(lic);
		} catch (const std::runtime_error &e) { std::cout << "That had no effect: " << e.what() << "\n"; }
} catch (const std::runtime_error &e) { return std::cerr << e.what() << "\n", 1; }
