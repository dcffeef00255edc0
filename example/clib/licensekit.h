/* licensekit.h is the C interface of a program's license. The library does what the Go
 * package licensing/program does, whose documentation says what happens when.
 *
 *     lk_reason why;
 *     lk_license lic = lk_open("{\"url\":\"https://acme.example/licensing\",\"keys\":{…},"
 *                              "\"product_id\":\"atlas\",\"key\":\"…\"}", &why);
 *     if (!lic) return fail(why.message);          // an option is wrong
 *     if (!lk_valid(lic, &why)) show(why.message); // one sentence for the user
 *     if (lk_has(lic, "export")) …
 *     lk_close(lic);
 *
 * Results   0 and NULL mean no. What a function that takes an lk_reason did not do, the
 *           reason says. It may be NULL.
 * Texts     are UTF-8 that ends with a zero byte. NULL, or a text that is not UTF-8, is
 *           refused with the code invalid_argument.
 * Memory    The caller frees each "char *" that a function returns, once, with lk_free.
 *           The library keeps no pointer of the caller, and frees nothing of the caller.
 * Threads   Any thread may call any function at any time, also lk_close while another
 *           thread is in a function, which then ends with the code closed. The library
 *           calls no function of the program, and has threads of its own.
 * Handles   A number, never used again. 0, a closed handle and any other number are
 *           refused with the code closed.
 * Time      timeout_ms is how long a function may wait for the service; 0 or less: 30,000,
 *           but in lk_wait. After that, the code is timeout. Functions without it do not
 *           wait, except lk_open (at most 5 seconds) and lk_close (at most 10).
 * fork      A child that was forked after the library was loaded cannot use it: the code
 *           is forked. Load the library in the child. fork with exec is allowed.
 * Unload    The library stays in the process: dlclose and FreeLibrary do not unload it.
 */
#ifndef LICENSEKIT_H
#define LICENSEKIT_H

#include <stdint.h>

#if defined(_WIN32) && defined(LK_BUILD)
#define LK_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(LK_STATIC)
#define LK_API __declspec(dllimport)
#elif defined(__GNUC__)
#define LK_API __attribute__((visibility("default")))
#else
#define LK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A license that is open; 0 is none. */
typedef uint64_t lk_license;

/* What a function says beside yes and no, in 1,024 bytes of the caller. code is ASCII, for
 * the program: a code of the Go package, such as "suspended" or "file_untrusted", or one of
 * invalid_argument, no_link (lk_link was not called), forked and internal. After success it
 * is empty, except of lk_valid. message is one sentence for the user, cut if it is longer.
 * internal is a failure of the library, which never ends the process. */
typedef struct lk_reason {
	char code[64];
	char message[960];
} lk_reason;

/* The version of the library: "0.1.0", or "(devel)" between releases. Not to be freed. */
LK_API const char *lk_version(void);

/* Opens the license. options is a JSON object:
 *     url          where the service is mounted; without it, there are no requests
 *     keys         required: the public keys, as GET /file/keys returns them, or their text
 *     product_id   required; also_product_id: the bundle that this program is a part of
 *     key          the license key; without it, the one that lk_set_key stored
 *     dir          directory for the files; by default below that of the user's configuration
 *     fingerprint  identifies the installation; by default, the machine
 *     name         describes it to operators; by default, the host name
 *     version      the version of the program, such as "2.1.0", which operators see
 *     per_process  true: a seat for each process
 *     built_at     when this build was made, such as "2026-11-29T00:00:00Z"
 *     proxy        URL of a proxy; by default, that of the environment
 *     ca           certificates in PEM that are trusted instead of those of the system
 * Another member is refused. With a license file that counts, lk_open does not wait, except
 * 1 second for an overdue check. It fails only if an option is invalid: invalid_option. */
LK_API lk_license lk_open(const char *options, lk_reason *reason);

/* Returns a license with a status that never changes, for tests. status is JSON as
 * lk_status returns it, such as {"valid":true,"entitlements":{"export":true}}. */
LK_API lk_license lk_fixed(const char *status, lk_reason *reason);

/* Ends the checks, reports what lk_count has counted, and with per_process frees the seat.
 * Returns 0 if the handle is closed already. */
LK_API int lk_close(lk_license license);

/* Whether the license is valid now. reason gets the code and the message of the status in
 * both cases; the code of a valid license is "valid" or "in_grace". No I/O. */
LK_API int lk_valid(lk_license license, lk_reason *reason);

/* Until when the license is valid without another answer of the service, in Unix seconds. */
LK_API int64_t lk_valid_until(lk_license license);

/* The status as JSON: valid, code, message, reason, license_id, licensed_to, entitlements,
 * meters, upcoming, expires_at, updates_until, valid_until, checked_at, warnings. */
LK_API char *lk_status(lk_license license);

/* Whether the license is valid and has an entitlement; its value as a number or a text. */
LK_API int lk_has(lk_license license, const char *entitlement);
LK_API int lk_number(lk_license license, const char *entitlement, double *value);
LK_API char *lk_text(lk_license license, const char *entitlement);

/* Waits until the status has changed since the number seen, and returns the number of now;
 * begin with 0, which returns immediately. timeout_ms: 0 does not wait, below 0 waits until
 * lk_close. Returns seen after that time, and 0 when the license is closed. */
LK_API uint64_t lk_wait(lk_license license, uint64_t seen, int timeout_ms);

/* Replaces the license key, and stores it. Returns 1 if the license is valid then. */
LK_API int lk_set_key(lk_license license, const char *key, int timeout_ms, lk_reason *reason);
/* Takes the seat of the oldest activation if none is free. */
LK_API int lk_take_over(lk_license license, int timeout_ms, lk_reason *reason);
/* Frees the seat of this installation, such as when it is uninstalled. */
LK_API int lk_release(lk_license license, int timeout_ms, lk_reason *reason);
/* Asks the service now. Returns 1 if it has answered. */
LK_API int lk_refresh(lk_license license, int timeout_ms, lk_reason *reason);
/* The installations that have a seat of the license, as a JSON array of {"id":…,"name":…,
 * "fingerprint":…,"this":…,"created_at":…,"last_seen_at":…,…}; this is true for the one of
 * the program. lk_free_device frees the seat of one by its id. The code is forbidden if the
 * vendor does not let license keys do that. */
LK_API char *lk_devices(lk_license license, int timeout_ms, lk_reason *reason);
LK_API int lk_free_device(lk_license license, const char *id, int timeout_ms, lk_reason *reason);

/* Starts an activation in the browser: {"url":…,"code":…,"expires_at":…}. Open the URL and
 * show the code; then lk_link_wait waits for the approval of the newest link, and returns 1
 * if the license is valid then. After timeout, call it again within 30 seconds. */
LK_API char *lk_link(lk_license license, int timeout_ms, lk_reason *reason);
LK_API int lk_link_wait(lk_license license, int timeout_ms, lk_reason *reason);

/* Without a network: the text that the user sends to the vendor, and the file or the
 * revocation list that answers it, which is verified and stored. */
LK_API char *lk_request(lk_license license, lk_reason *reason);
LK_API int lk_install(lk_license license, const char *text, lk_reason *reason);

/* lk_use asks for n units of a meter; usage_limit says that the license has not that many.
 * lk_count counts n units that were used, also without a network. */
LK_API int lk_use(lk_license license, const char *meter, int64_t n, int timeout_ms, lk_reason *reason);
LK_API int lk_count(lk_license license, const char *meter, int64_t n);

/* Verifies a license file alone: no directory, no request. keys as above; expect is a JSON
 * object with product_id and, each optional, fingerprint, nonce, built_at, min_generation,
 * now, floor and revocations (the text of a revocation list). Returns the claims as JSON. */
LK_API char *lk_verify(const char *keys, const char *file, const char *expect, lk_reason *reason);

/* Frees a text that a function has returned. NULL is allowed. */
LK_API void lk_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
