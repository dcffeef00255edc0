#include <stdio.h>

#include "licensekit.h"

static int fail(const char *message) { return printf("fail %s\n", message), 1; }
static void show(const char *message) { printf("show %s\n", message); }
static void offer_export(void) { puts("export"); }

int main(int argc, char **argv) {
	const char *options = argc > 1 ? argv[1] : "";
	/* guide */
	lk_reason why;
	lk_license lic = lk_open(options, &why);
	if (!lic) return fail(why.message); /* an option is wrong */
	if (!lk_valid(lic, &why)) show(why.message);
	if (lk_has(lic, "export")) offer_export();
	/* guide */
	return !lk_close(lic);
}
