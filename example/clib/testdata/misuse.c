/* What goes wrong in programs in C: the library refuses it, and lives on. The argument is
 * options of lk_open. */
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
	refused(lk_verify(NULL, "", "", &why) != NULL, &why, "invalid_argument", "verify NULL");
	check(!lk_has(l, NULL) && !lk_has(l, "\xff") && !lk_number(l, NULL, &v) && !lk_text(l, NULL), "NULL name");
	check(lk_has(l, "export") && lk_number(l, "users", NULL), "the license");
	check(!lk_count(l, NULL, 1), "count NULL");
	lk_free(NULL);
	lk_license wrong[] = {0, l + 1, 12345678901234ull, ~0ull};
	for (int i = 0; i < 4; i++) {
		refused(lk_valid(wrong[i], &why), &why, "closed", "valid of a wrong handle");
		refused(lk_refresh(wrong[i], 0, &why), &why, "closed", "refresh of a wrong handle");
		check(!lk_status(wrong[i]) && !lk_close(wrong[i]) && !lk_wait(wrong[i], 0, -1) && !lk_valid_until(wrong[i]), "a wrong handle");
	}
	check(lk_close(l) && !lk_close(l), "closed twice");
	lk_license next = lk_open(options, &why);
	check(next != l && !lk_has(l, "export"), "a handle is not used again");
	lk_close(next);
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
			memset(&why, 'x', sizeof why);
			refused(lk_valid(l, &why), &why, "forked", "valid in a child");
			refused(lk_open(options, &why) != 0, &why, "forked", "open in a child");
			check(!lk_has(l, "export") && !lk_status(l) && !lk_close(l) && !lk_wait(l, 0, -1), "a child");
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
	options = v[1];
	arguments();
	threads();
	forks();
	handlers();
	if (n > 2) copies(v[2]);
	if (!failed) puts("ok");
	return failed;
}
