#include <iostream>

#include "licensekit.hpp"

static void show(const std::string &message) { std::cout << "show " << message << "\n"; }
static void offer_export() { std::cout << "export\n"; }

int main(int, char **argv) try {
	std::string options = argv[1];
	// guide
	licensekit::License lic(options); // throws licensekit::Error if an option is wrong
	auto state = lic.check();
	if (!state.valid) show(state.message);
	if (lic.has("export")) offer_export();
	// guide
} catch (const licensekit::Error &e) { std::cout << "fail " << e.what() << "\n"; }
