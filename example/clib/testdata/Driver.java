import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

class Driver {
    static LicenseKit lic;
    static final AtomicInteger noticed = new AtomicInteger();

    static int number(String s) { return Integer.parseInt(s); }

    static String run(String[] a) throws LicenseKit.LicenseException {
        switch (a[0]) {
        case "open": lic = new LicenseKit(a[1]); break;
        case "fixed": lic = LicenseKit.fixed(a[1]); break;
        case "valid": var s = lic.check(); return s.valid + " " + s.code + " " + s.message;
        case "valid_until": return "" + lic.validUntil();
        case "status": return lic.status();
        case "has": return "" + lic.has(a[1]);
        case "number": var v = lic.number(a[1]); return v.isEmpty() ? "none" : new BigDecimal(v.getAsDouble() + "").stripTrailingZeros().toPlainString();
        case "text": var t = lic.text(a[1]); return t == null ? "none" : t;
        case "set_key": lic.setKey(a[1], number(a[2])); break;
        case "take_over": lic.takeOver(number(a[1])); break;
        case "release": lic.release(number(a[1])); break;
        case "refresh": lic.refresh(number(a[1])); break;
        case "link": return lic.link(0);
        case "link_wait": lic.linkWait(number(a[1])); break;
        case "devices": return lic.devices(number(a[1]));
        case "free_device": lic.freeDevice(a[1], number(a[2])); break;
        case "request": return lic.request();
        case "install": lic.install(a[1]); break;
        case "use": lic.use(a[1], Long.parseLong(a[2]), number(a[3])); break;
        case "count": return "" + lic.count(a[1], Long.parseLong(a[2]));
        case "verify": return LicenseKit.verify(a[1], a[2], a[3]);
        case "watch": lic.onChange(noticed::incrementAndGet); break;
        case "noticed": return "" + noticed;
        case "close": return "" + lic.closed();
        case "version": return LicenseKit.version();
        case "null": // compiled code has no check of its own here, but a signal
            int caught = 0;
            for (int i = 0; i < 200_000; i++) caught += length(i % 1000 == 999 ? null : "x");
            return caught == 200 * (999 - 1) ? "caught" : "" + caught;
        }
        return "ok";
    }

    static int length(String s) {
        try { return s.length(); } catch (NullPointerException e) { return -1; }
    }

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            try { out.print(run(line.split("\t", -1)) + "\n"); } catch (LicenseKit.LicenseException e) { out.print("!" + e.code + " " + e.getMessage() + "\n"); }
            out.flush();
        }
    }
}
