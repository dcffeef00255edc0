/* What goes wrong in programs in C: the library refuses it, and lives on. The arguments are
 * a part of main, options of lk_open, and for the part copies, another file of the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "licensekit.h"

static int failed;
static const char *options;

static void check(int ok, const char *what) {
	if (!ok) {
		printf("FAILED: %s\n", what);
		failed = 1;
	}
}

static void refused(int ok, lk_reason *why, const char *code, const char *what) {
	if (ok || strcmp(why->code, code) || !why->message[0]) {
		printf("FAILED: %s: %d %s %s\n", what, ok, why->code, why->message);
		failed = 1;
	}
}

/* Each function that takes a handle refuses it with a code or, without a reason, with 0. */
static void all(lk_license l, const char *code) {
	lk_reason why;
	double v;
	memset(&why, 'x', sizeof why);
	refused(lk_valid(l, &why), &why, code, "valid");
	check(!lk_valid_until(l) && !lk_status(l) && !lk_has(l, "export") && !lk_number(l, "users", &v) && !lk_text(l, "tier"), code);
	check(!lk_wait(l, 0, -1) && !lk_count(l, "calls", 1), code);
	refused(lk_set_key(l, "x", 0, &why), &why, code, "set_key");
	refused(lk_take_over(l, 0, &why), &why, code, "take_over");
	refused(lk_release(l, 0, &why), &why, code, "release");
	refused(lk_refresh(l, 0, &why), &why, code, "refresh");
	refused(lk_devices(l, 0, &why) != NULL, &why, code, "devices");
	refused(lk_free_device(l, "x", 0, &why), &why, code, "free_device");
	refused(lk_link(l, 0, &why) != NULL, &why, code, "link");
	refused(lk_link_wait(l, 0, &why), &why, code, "link_wait");
	refused(lk_request(l, &why) != NULL, &why, code, "request");
	refused(lk_install(l, "x", &why), &why, code, "install");
	refused(lk_use(l, "calls", 1, 0, &why), &why, code, "use");
	check(!lk_close(l) && !lk_set_key(l, "x", 0, NULL) && !lk_devices(l, 0, NULL), code);
}

/* Each function that takes JSON refuses this one with a code. */
static void begins(const char *json, const char *code) {
	lk_reason why;
	refused(lk_open(json, &why) != 0, &why, code, "open");
	refused(lk_fixed(json, &why) != 0, &why, code, "fixed");
	refused(lk_verify("{}", "", json, &why) != NULL, &why, code, "verify");
}

static void arguments(void) {
	lk_reason why;
	double v;
	refused(lk_open(NULL, &why) != 0, &why, "invalid_argument", "open NULL");
	refused(lk_open("{\"url\":\"\xff\"}", &why) != 0, &why, "invalid_argument", "open not UTF-8");
	check(!lk_open(NULL, NULL), "open without a reason");
	lk_license l = lk_open(options, &why);
	check(l && !why.code[0] && !why.message[0], "open");
	refused(lk_set_key(l, NULL, 0, &why), &why, "invalid_argument", "set_key NULL");
	refused(lk_set_key(l, "\xc3", 0, &why), &why, "invalid_argument", "set_key not UTF-8");
	refused(lk_install(l, NULL, &why), &why, "invalid_argument", "install NULL");
	refused(lk_use(l, NULL, 1, 0, &why), &why, "invalid_argument", "use NULL");
	refused(lk_free_device(l, NULL, 0, &why), &why, "invalid_argument", "free_device NULL");
	refused(lk_fixed(NULL, &why) != 0, &why, "invalid_argument", "fixed NULL");
	refused(lk_verify(NULL, "", "", &why) != NULL, &why, "invalid_argument", "verify NULL");
	check(!lk_has(l, NULL) && !lk_has(l, "\xff") && !lk_number(l, NULL, &v) && !lk_text(l, NULL), "NULL name");
	check(lk_has(l, "export") && lk_number(l, "users", NULL), "the license");
	check(!lk_count(l, NULL, 1) && !lk_count(l, "calls", 0) && !lk_count(l, "calls", -1), "count");
	lk_free(NULL);
	lk_license wrong[] = {0, l + 1, 12345678901234ull, ~0ull};
	for (int i = 0; i < 4; i++) all(wrong[i], "closed");
	uint64_t seen = lk_wait(l, 0, 0);
	check(seen && lk_wait(l, seen, 0) == seen && lk_wait(l, seen, 10) == seen, "wait");
	check(lk_close(l) && !lk_close(l), "closed twice");
	lk_license next = lk_open(options, &why);
	check(next != l && !lk_has(l, "export"), "a handle is not used again");
	lk_close(next);
}

/* A failure in any function does not end the process. */
static void panics(void) {
	lk_reason why;
	begins("{\"panic\":true}", "internal");
	lk_license l = lk_open(options, &why);
	check(l != 0, "open");
	all(l, "internal");
}

/* What waits for the service ends with lk_close. */
static lk_license stalled;
static void *waits(void *n) {
	lk_reason why;
	switch ((int)(intptr_t)n) {
	case 0: refused(lk_set_key(stalled, "x", 60000, &why), &why, "closed", "set_key while closing"); break;
	case 1: refused(lk_take_over(stalled, 60000, &why), &why, "closed", "take_over while closing"); break;
	case 2: refused(lk_refresh(stalled, 60000, &why), &why, "closed", "refresh while closing"); break;
	case 3: refused(lk_devices(stalled, 60000, &why) != NULL, &why, "closed", "devices while closing"); break;
	case 4: refused(lk_free_device(stalled, "x", 60000, &why), &why, "closed", "free_device while closing"); break;
	case 5: refused(lk_link(stalled, 60000, &why) != NULL, &why, "closed", "link while closing"); break;
	case 6: refused(lk_use(stalled, "calls", 1, 60000, &why), &why, "closed", "use while closing"); break;
	case 7: check(!lk_wait(stalled, lk_wait(stalled, 0, 0), -1), "wait while closing"); break;
	}
	return NULL;
}
static void closes(void) {
	pthread_t t[8];
	stalled = lk_open(options, NULL);
	for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, waits, (void *)(intptr_t)i);
	usleep(300000);
	check(lk_close(stalled), "close");
	for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
}

/* The memory of the process that is in no file, in KB. */
static long memory(void) {
	char line[200];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f)) sscanf(line, "RssAnon: %ld", &kb);
	if (f) fclose(f);
	return kb;
}
static void grows(void) {
	long first = 0;
	for (int i = 0; i < 1200; i++) {
		lk_reason why;
		lk_license l = lk_open(options, &why);
		for (int n = 0; n < 50; n++) lk_free(lk_status(l));
		lk_free(lk_request(l, &why));
		lk_close(l);
		if (i == 200) first = memory();
	}
	printf("%ld KB after 200, %ld KB after 1,200\n", first, memory());
	check(first > 0 && memory() < first + 2048, "1,200 opens without growth");
}

/* Threads that use one handle while it is closed. */
static void *waiter(void *l) {
	uint64_t h = *(uint64_t *)l, seen = lk_wait(h, 0, 0);
	while (seen) seen = lk_wait(h, seen, -1);
	return NULL;
}
static void *user(void *l) {
	uint64_t h = *(uint64_t *)l;
	lk_reason why;
	for (int i = 0; i < 2000; i++) {
		lk_has(h, "export");
		lk_free(lk_status(h));
		lk_valid(h, &why);
		if (i % 500 == 0) lk_refresh(h, 1000, &why);
	}
	return NULL;
}
static void threads(void) {
	for (int round = 0; round < 5; round++) {
		lk_reason why;
		lk_license l = lk_open(options, &why);
		pthread_t t[8];
		for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, i < 2 ? waiter : user, &l);
		usleep(5000 * round);
		lk_close(l);
		for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
	}
}

/* A child says so, and ends; one that starts a program is as ever. */
static void forks(void) {
	lk_reason why;
	lk_license l = lk_open(options, &why);
	for (int exec = 0; exec < 2; exec++) {
		pid_t child = fork();
		if (!child) {
			alarm(10);
			if (exec) {
				execl("/bin/true", "true", NULL);
				_exit(9);
			}
			all(l, "forked");
			begins(options, "forked");
			lk_free(NULL);
			check(!lk_version()[0], "version");
			_exit(failed); /* exit too would work */
		}
		int status;
		waitpid(child, &status, 0);
		check(WIFEXITED(status) && !WEXITSTATUS(status), exec ? "fork and exec" : "fork");
	}
	check(lk_has(l, "export"), "the parent goes on");
	lk_close(l);
}

static volatile sig_atomic_t signals;
static void on_signal(int s) { signals += s > 0; }

/* The handlers of the program, set before or after, keep working. */
static void handlers(void) {
	lk_reason why;
	signal(SIGUSR1, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGPIPE, on_signal);
	lk_license l = lk_open(options, &why);
	for (int i = 0; i < 100; i++) {
		raise(SIGUSR1);
		raise(SIGINT);
		raise(SIGPIPE);
		lk_has(l, "export");
	}
	check(signals == 300, "signal handlers");
	lk_close(l);
}

/* A copy of the library has a Go runtime of its own. */
static void copies(const char *copy) {
	lk_reason why;
	void *lib = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
	check(lib != NULL, "dlopen");
	if (!lib) return;
	lk_license (*open)(const char *, lk_reason *) = dlsym(lib, "lk_open");
	int (*has)(lk_license, const char *) = dlsym(lib, "lk_has");
	int (*close)(lk_license) = dlsym(lib, "lk_close");
	lk_license one = lk_open(options, &why), two = open(options, &why);
	check(lk_has(one, "export") && has(two, "export"), "two libraries");
	check(lk_close(one) && close(two), "two libraries close");
	dlclose(lib); /* stays loaded */
	lk_license three = open(options, &why);
	check(three && has(three, "export") && close(three), "after dlclose");
}

int main(int n, char **v) {
	if (n < 3) return 2;
	options = v[2];
	if (!strcmp(v[1], "arguments")) arguments();
	if (!strcmp(v[1], "panics")) panics();
	if (!strcmp(v[1], "threads")) threads();
	if (!strcmp(v[1], "closes")) closes();
	if (!strcmp(v[1], "forks")) forks();
	if (!strcmp(v[1], "handlers")) handlers();
	if (!strcmp(v[1], "grows")) grows();
	if (!strcmp(v[1], "copies")) copies(v[3]);
	if (!failed) puts("ok");
	return failed;
}
