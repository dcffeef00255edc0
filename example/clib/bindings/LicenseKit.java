import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.DoubleByReference;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.Function;

/**
 * The license of a program: the Java binding of licensekit.h, which says what each function
 * does. For Java 11 or later, with JNA. Safe for threads.
 *
 * <pre>try (var lic = new LicenseKit(options)) { if (lic.has("export")) … } // the options of lk_open in JSON</pre>
 */
public final class LicenseKit implements AutoCloseable {
    private interface Lib extends Library {
        String lk_version();
        long lk_open(String options, byte[] reason);
        long lk_fixed(String status, byte[] reason);
        int lk_close(long l);
        int lk_valid(long l, byte[] reason);
        long lk_valid_until(long l);
        Pointer lk_status(long l);
        int lk_has(long l, String name);
        int lk_number(long l, String name, DoubleByReference value);
        Pointer lk_text(long l, String name);
        long lk_wait(long l, long seen, int ms);
        int lk_set_key(long l, String key, int ms, byte[] reason);
        int lk_take_over(long l, int ms, byte[] reason);
        int lk_release(long l, int ms, byte[] reason);
        int lk_refresh(long l, int ms, byte[] reason);
        Pointer lk_link(long l, int ms, byte[] reason);
        int lk_link_wait(long l, int ms, byte[] reason);
        Pointer lk_devices(long l, int ms, byte[] reason);
        int lk_free_device(long l, String id, int ms, byte[] reason);
        Pointer lk_request(long l, byte[] reason);
        int lk_install(long l, String text, byte[] reason);
        int lk_use(long l, String meter, long n, int ms, byte[] reason);
        int lk_count(long l, String meter, long n);
        Pointer lk_verify(String keys, String file, String expect, byte[] reason);
        void lk_free(Pointer text);
    }

    private static final Lib LIB = Native.load("licensekit", Lib.class, Map.of(Library.OPTION_STRING_ENCODING, "UTF-8"));
    private static final int SIZE = 1024, CODE = 64; // of an lk_reason, and of its code

    /** Why a call had no effect: code is for the program, the message one sentence for the user. */
    public static final class LicenseException extends Exception {
        public final String code;

        private LicenseException(byte[] reason) {
            super(part(reason, CODE, SIZE));
            code = part(reason, 0, CODE);
        }
    }

    /** A status, of one moment. */
    public static final class Check {
        public final boolean valid;
        public final String code, message;

        private Check(boolean valid, byte[] reason) {
            this.valid = valid;
            code = part(reason, 0, CODE);
            message = part(reason, CODE, SIZE);
        }
    }

    private final long handle;

    /** Takes the options of lk_open in JSON. */
    public LicenseKit(String options) throws LicenseException { this(r -> LIB.lk_open(options, r)); }
    private LicenseKit(Function<byte[], Long> open) throws LicenseException { handle = call(open); }
    public static LicenseKit fixed(String status) throws LicenseException { return new LicenseKit(r -> LIB.lk_fixed(status, r)); }
    public static String version() { return LIB.lk_version(); }

    /** Returns the claims of a license file as JSON. */
    public static String verify(String keys, String file, String expect) throws LicenseException {
        return take(call(r -> LIB.lk_verify(keys, file, expect, r)));
    }

    public Check check() {
        byte[] reason = new byte[SIZE];
        boolean valid = LIB.lk_valid(handle, reason) != 0;
        return new Check(valid, reason);
    }
    /** One sentence for the user. */
    public String message() { return check().message; }
    public boolean valid() { return LIB.lk_valid(handle, null) != 0; }
    /** In Unix seconds; 0: it is not valid. */
    public long validUntil() { return LIB.lk_valid_until(handle); }
    /** The status as JSON. */
    public String status() { return take(LIB.lk_status(handle)); }
    public boolean has(String entitlement) { return LIB.lk_has(handle, entitlement) != 0; }
    public OptionalDouble number(String entitlement) {
        var value = new DoubleByReference();
        return LIB.lk_number(handle, entitlement, value) != 0 ? OptionalDouble.of(value.getValue()) : OptionalDouble.empty();
    }
    /** Returns null if there is no such text. */
    public String text(String entitlement) { return take(LIB.lk_text(handle, entitlement)); }

    public void setKey(String key, int ms) throws LicenseException { call(r -> LIB.lk_set_key(handle, key, ms, r)); }
    public void takeOver(int ms) throws LicenseException { call(r -> LIB.lk_take_over(handle, ms, r)); }
    public void release(int ms) throws LicenseException { call(r -> LIB.lk_release(handle, ms, r)); }
    public void refresh(int ms) throws LicenseException { call(r -> LIB.lk_refresh(handle, ms, r)); }
    /** Returns JSON. */
    public String link(int ms) throws LicenseException { return take(call(r -> LIB.lk_link(handle, ms, r))); }
    public void linkWait(int ms) throws LicenseException { call(r -> LIB.lk_link_wait(handle, ms, r)); }
    /** Returns JSON. */
    public String devices(int ms) throws LicenseException { return take(call(r -> LIB.lk_devices(handle, ms, r))); }
    public void freeDevice(String id, int ms) throws LicenseException { call(r -> LIB.lk_free_device(handle, id, ms, r)); }
    public String request() throws LicenseException { return take(call(r -> LIB.lk_request(handle, r))); }
    public void install(String file) throws LicenseException { call(r -> LIB.lk_install(handle, file, r)); }
    public void use(String meter, long n, int ms) throws LicenseException { call(r -> LIB.lk_use(handle, meter, n, ms, r)); }
    public boolean count(String meter, long n) { return LIB.lk_count(handle, meter, n) != 0; }

    /** Calls an action on a thread of its own after each change, until close. */
    public void onChange(Runnable call) {
        var thread = new Thread(() -> {
            for (long seen = LIB.lk_wait(handle, 0, 0); seen != 0; ) {
                if ((seen = LIB.lk_wait(handle, seen, -1)) != 0) call.run();
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override public void close() { closed(); }
    /** Closes the license, and returns whether it was open. */
    public boolean closed() { return LIB.lk_close(handle) != 0; }

    /** Calls a function that takes a reason. Returns its result, or throws the reason if that is 0 or null. */
    private static <T> T call(Function<byte[], T> f) throws LicenseException {
        byte[] reason = new byte[SIZE];
        T result = f.apply(reason);
        if (result == null || result instanceof Number && ((Number) result).longValue() == 0) throw new LicenseException(reason);
        return result;
    }
    private static String take(Pointer p) {
        if (p == null) return null;
        try { return p.getString(0, "UTF-8"); } finally { LIB.lk_free(p); }
    }
    private static String part(byte[] b, int from, int to) {
        int end = from;
        while (end < to && b[end] != 0) end++;
        return new String(b, from, end - from, StandardCharsets.UTF_8);
    }
}
