/* What a user expects of a program's first window, in a terminal: whether it is licensed, how it
 * is activated, and on which devices. ./menu options.json: the file has the options of lk_open;
 * a real program has them in itself, and reads JSON with a library. */
#include <stdio.h>
#include <string.h>
#include "licensekit.h"

static lk_reason why;
static char line[1 << 12], text[1 << 17];

static const char *ask(const char *prompt) {
	printf("%s ", prompt);
	if (!fgets(line, sizeof line, stdin)) line[0] = 0;
	line[strcspn(line, "\r\n")] = 0;
	return line;
}

static const char *content(const char *path) {
	FILE *f = fopen(path, "rb");
	text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
	if (f) fclose(f);
	return text;
}

/* Copies a text of a JSON object, up to 199 bytes. */
static char *member(const char *json, const char *name, char value[200]) {
	char begin[20];
	snprintf(begin, sizeof begin, "\"%s\":\"", name);
	json = strstr(json, begin);
	if (!json || sscanf(json + strlen(begin), "%199[^\"]", value) != 1) value[0] = 0;
	return value;
}

static int in_the_browser(lk_license lic) {
	char *link = lk_link(lic, 0, &why), url[200], code[200];
	if (!link) return 0;
	printf("Open %s and compare the code: %s. Waiting for the approval ...\n", member(link, "url", url), member(link, "code", code));
	return lk_free(link), lk_link_wait(lic, 600000, &why);
}

static int with_a_file(lk_license lic) {
	char *request = lk_request(lic, &why);
	if (!request) return 0;
	printf("Send this to the vendor: %s\n", request);
	return lk_free(request), lk_install(lic, content(ask("File that the vendor sent:")), &why);
}

static int devices(lk_license lic) {
	char *json = lk_devices(lic, 0, &why), ids[99][200], name[200];
	int count = 0, own = -1, n;
	if (!json) return 0;
	for (char *p = json, *next; p && count < 99 && (p = strstr(p, "{\"object\"")); count++, p = next) {
		if ((next = strstr(p + 1, "{\"object\""))) next[-1] = 0;
		if (strstr(p, "\"this\":true")) own = count;
		member(p, "id", ids[count]);
		printf("%d %s%s\n", count + 1, member(p, "name", name), own == count ? " (this device)" : "");
	}
	lk_free(json);
	if (sscanf(ask("Free the seat of number (Enter: none):"), "%d", &n) != 1 || n < 1 || n > count) return 1;
	return lk_free_device(lic, ids[n - 1], 0, &why) && (n - 1 == own || lk_refresh(lic, 0, &why)); /* which takes the seat */
}

int main(int argc, char **argv) {
	lk_license lic = lk_open(content(argc > 1 ? argv[1] : ""), &why);
	setvbuf(stdout, NULL, _IONBF, 0);
	if (!lic) return fprintf(stderr, "%s\n", why.message), 1;
	for (char choice = ' '; choice != '0' && choice;) {
		int ok = 1;
		printf("\n%s", lk_valid(lic, &why) ? "Licensed. " : "Not licensed. ");
		printf("%s\n1 Activate in the browser\n2 Enter a license key\n3 Install a license file\n4 Check again\n5 Devices\n0 Quit\n", why.message);
		choice = ask("Choose:")[0];
		if (choice == '1') ok = in_the_browser(lic);
		if (choice == '2') ok = lk_set_key(lic, ask("License key:"), 0, &why);
		if (choice == '3') ok = with_a_file(lic);
		if (choice == '4') ok = lk_refresh(lic, 0, &why);
		if (choice == '5') ok = devices(lic);
		if (!ok) printf("That had no effect: %s\n", why.message);
	}
	return !lk_close(lic);
}
