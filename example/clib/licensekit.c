// The functions of licensekit.h. In a process that was forked, no function of Go may be
// called: its threads are those of the parent.
#define LK_BUILD
#include "_cgo_export.h"

#include <stdlib.h>
#include <string.h>

static volatile int forked;

#ifdef _WIN32
#include <windows.h>

// The threads of Go never end, so FreeLibrary must not take their code away.
__attribute__((constructor)) static void stay(void) {
	HMODULE self;
	GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, (LPCSTR)stay, &self);
}
#else
#include <pthread.h>

static void in_child(void) { forked = 1; }

__attribute__((constructor)) static void watch(void) { pthread_atfork(NULL, NULL, in_child); }
#endif

// usable returns 1, or writes the reason.
static int usable(lk_reason *reason) {
	if (reason) memset(reason, 0, sizeof *reason);
	if (forked && reason) {
		strcpy(reason->code, "forked");
		strcpy(reason->message, "The process was forked after the license library was loaded; load it in the child process.");
	}
	return !forked;
}

const char *lk_version(void) { return usable(NULL) ? goVersion() : ""; }
void lk_free(char *text) { free(text); }

lk_license lk_open(const char *options, lk_reason *r) { return usable(r) ? goOpen(options, r) : 0; }
lk_license lk_fixed(const char *status, lk_reason *r) { return usable(r) ? goFixed(status, r) : 0; }
int lk_close(lk_license l) { return usable(NULL) ? goClose(l) : 0; }
int lk_valid(lk_license l, lk_reason *r) { return usable(r) ? goValid(l, r) : 0; }
int64_t lk_valid_until(lk_license l) { return usable(NULL) ? goValidUntil(l) : 0; }
char *lk_status(lk_license l) { return usable(NULL) ? goStatus(l) : NULL; }
int lk_has(lk_license l, const char *name) { return usable(NULL) ? goHas(l, name) : 0; }
int lk_number(lk_license l, const char *name, double *v) { return usable(NULL) ? goNumber(l, name, v) : 0; }
char *lk_text(lk_license l, const char *name) { return usable(NULL) ? goText(l, name) : NULL; }
uint64_t lk_wait(lk_license l, uint64_t seen, int ms) { return usable(NULL) ? goWait(l, seen, ms) : 0; }
int lk_set_key(lk_license l, const char *key, int ms, lk_reason *r) { return usable(r) ? goSetKey(l, key, ms, r) : 0; }
int lk_take_over(lk_license l, int ms, lk_reason *r) { return usable(r) ? goTakeOver(l, ms, r) : 0; }
int lk_release(lk_license l, int ms, lk_reason *r) { return usable(r) ? goRelease(l, ms, r) : 0; }
int lk_refresh(lk_license l, int ms, lk_reason *r) { return usable(r) ? goRefresh(l, ms, r) : 0; }
char *lk_devices(lk_license l, int ms, lk_reason *r) { return usable(r) ? goDevices(l, ms, r) : NULL; }
int lk_free_device(lk_license l, const char *id, int ms, lk_reason *r) { return usable(r) ? goFreeDevice(l, id, ms, r) : 0; }
char *lk_link(lk_license l, int ms, lk_reason *r) { return usable(r) ? goLink(l, ms, r) : NULL; }
int lk_link_wait(lk_license l, int ms, lk_reason *r) { return usable(r) ? goLinkWait(l, ms, r) : 0; }
char *lk_request(lk_license l, lk_reason *r) { return usable(r) ? goRequest(l, r) : NULL; }
int lk_install(lk_license l, const char *text, lk_reason *r) { return usable(r) ? goInstall(l, text, r) : 0; }
int lk_use(lk_license l, const char *meter, int64_t n, int ms, lk_reason *r) { return usable(r) ? goUse(l, meter, n, ms, r) : 0; }
int lk_count(lk_license l, const char *meter, int64_t n) { return usable(NULL) ? goCount(l, meter, n) : 0; }
char *lk_verify(const char *keys, const char *file, const char *expect, lk_reason *r) { return usable(r) ? goVerify(keys, file, expect, r) : NULL; }
