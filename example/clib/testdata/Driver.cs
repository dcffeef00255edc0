using System;
using System.Globalization;
using System.IO;
using System.Text;
using LicenseKit;

static class Driver {
    static License lic;
    static int noticed;

    static string Truth(bool b) { return b ? "true" : "false"; }

    static string Run(string[] a) {
        switch (a[0]) {
        case "open": lic = new License(a[1]); break;
        case "fixed": lic = License.Fixed(a[1]); break;
        case "valid": var s = lic.Check(); return Truth(s.Valid) + " " + s.Code + " " + s.Message;
        case "valid_until": return lic.ValidUntil.ToUnixTimeSeconds().ToString();
        case "status": return lic.Status ?? "null";
        case "has": return Truth(lic.Has(a[1]));
        case "number": var v = lic.Number(a[1]); return v == null ? "none" : v.Value.ToString(CultureInfo.InvariantCulture);
        case "text": return lic.Text(a[1]) ?? "none";
        case "set_key": lic.SetKey(a[1], int.Parse(a[2])); break;
        case "take_over": lic.TakeOver(int.Parse(a[1])); break;
        case "release": lic.Release(int.Parse(a[1])); break;
        case "refresh": lic.Refresh(int.Parse(a[1])); break;
        case "link": return lic.Link();
        case "link_wait": lic.LinkWait(int.Parse(a[1])).GetAwaiter().GetResult(); break;
        case "devices": return lic.Devices(int.Parse(a[1]));
        case "free_device": lic.FreeDevice(a[1], int.Parse(a[2])); break;
        case "request": return lic.Request();
        case "install": lic.Install(a[1]); break;
        case "use": lic.Use(a[1], long.Parse(a[2]), int.Parse(a[3])); break;
        case "count": return Truth(lic.Count(a[1], long.Parse(a[2])));
        case "verify": return License.Verify(a[1], a[2], a[3]);
        case "watch": lic.OnChange(() => noticed++); break;
        case "noticed": return noticed.ToString();
        case "close": return Truth(lic.Close());
        case "version": return License.Version;
        case "null":
            try { string none = a.Length > 9 ? "" : null; return none.Length.ToString(); } catch (NullReferenceException) { return "caught"; }
        }
        return "ok";
    }

    static void Main() {
        var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { AutoFlush = true };
        for (string line; (line = input.ReadLine()) != null;) {
            try { output.Write(Run(line.Split('\t')) + "\n"); } catch (LicenseException e) { output.Write("!" + e.Code + " " + e.Message + "\n"); }
        }
    }
}
