/* The driver of the tests in C, which uses licensekit.h itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "licensekit.h"

static lk_license lic;
static lk_reason why;
static uint64_t seen;
static int noticed;

static void yes(int ok) {
	if (ok) puts("ok");
	else printf("!%s %s\n", why.code, why.message);
}

static void show(char *text, const char *otherwise) {
	if (text) puts(text);
	else if (otherwise) puts(otherwise);
	else yes(0);
	lk_free(text);
}

int main(void) {
	static char line[1 << 17];
	while (fgets(line, sizeof line, stdin)) {
		char *a[5] = {"", "", "", "", ""}, *p = line;
		line[strcspn(line, "\r\n")] = 0;
		for (int n = 0; n < 5 && p; n++) {
			a[n] = p;
			if ((p = strchr(p, '\t'))) *p++ = 0;
		}
		const char *c = a[0];
		double v;
		if (!strcmp(c, "open")) yes((lic = lk_open(a[1], &why)) != 0);
		else if (!strcmp(c, "fixed")) yes((lic = lk_fixed(a[1], &why)) != 0);
		else if (!strcmp(c, "valid")) {
			const char *ok = lk_valid(lic, &why) ? "true" : "false";
			printf("%s %s %s\n", ok, why.code, why.message);
		} else if (!strcmp(c, "valid_until")) printf("%" PRId64 "\n", lk_valid_until(lic));
		else if (!strcmp(c, "status")) show(lk_status(lic), "null");
		else if (!strcmp(c, "has")) puts(lk_has(lic, a[1]) ? "true" : "false");
		else if (!strcmp(c, "number")) lk_number(lic, a[1], &v) ? printf("%.15g\n", v) : puts("none");
		else if (!strcmp(c, "text")) show(lk_text(lic, a[1]), "none");
		else if (!strcmp(c, "set_key")) yes(lk_set_key(lic, a[1], atoi(a[2]), &why));
		else if (!strcmp(c, "take_over")) yes(lk_take_over(lic, atoi(a[1]), &why));
		else if (!strcmp(c, "release")) yes(lk_release(lic, atoi(a[1]), &why));
		else if (!strcmp(c, "refresh")) yes(lk_refresh(lic, atoi(a[1]), &why));
		else if (!strcmp(c, "devices")) show(lk_devices(lic, atoi(a[1]), &why), NULL);
		else if (!strcmp(c, "free_device")) yes(lk_free_device(lic, a[1], atoi(a[2]), &why));
		else if (!strcmp(c, "link")) show(lk_link(lic, 0, &why), NULL);
		else if (!strcmp(c, "link_wait")) yes(lk_link_wait(lic, atoi(a[1]), &why));
		else if (!strcmp(c, "request")) show(lk_request(lic, &why), NULL);
		else if (!strcmp(c, "install")) yes(lk_install(lic, a[1], &why));
		else if (!strcmp(c, "use")) yes(lk_use(lic, a[1], atoll(a[2]), atoi(a[3]), &why));
		else if (!strcmp(c, "count")) puts(lk_count(lic, a[1], atoll(a[2])) ? "true" : "false");
		else if (!strcmp(c, "verify")) show(lk_verify(a[1], a[2], a[3], &why), NULL);
		else if (!strcmp(c, "watch")) { seen = lk_wait(lic, 0, 0); puts("ok"); }
		else if (!strcmp(c, "noticed")) {
			uint64_t now = lk_wait(lic, seen, 0);
			if (now != seen) noticed++;
			seen = now;
			printf("%d\n", noticed);
		} else if (!strcmp(c, "close")) puts(lk_close(lic) ? "true" : "false");
		else if (!strcmp(c, "version")) puts(lk_version());
		else if (!strcmp(c, "null")) puts("caught");
		else puts("unknown command");
		fflush(stdout);
	}
	return 0;
}
