// The license of a program: the C# binding of licensekit.h, which says what each function
// does. For .NET Framework 4.6, Mono and .NET, without packages.
//
//   using (var lic = new License(options)) // the options of lk_open in JSON
//       if (lic.Has("export")) …
using System;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace LicenseKit {

/// <summary>Why a call had no effect: Code is for the program, Message one sentence for the user.</summary>
public sealed class LicenseException : Exception {
    public string Code { get; }
    internal LicenseException(string code, string message) : base(message) { Code = code; }
}

/// <summary>A status, of one moment.</summary>
public struct Check {
    public bool Valid;
    public string Code, Message;
}

/// <summary>Safe for threads. Dispose closes it.</summary>
public sealed class License : IDisposable {
    const string Lib = "licensekit"; // licensekit.dll, liblicensekit.so, liblicensekit.dylib
    const int Size = 1024, CodeSize = 64;

    [DllImport(Lib)] static extern IntPtr lk_version();
    [DllImport(Lib)] static extern ulong lk_open(byte[] options, byte[] reason);
    [DllImport(Lib)] static extern ulong lk_fixed(byte[] status, byte[] reason);
    [DllImport(Lib)] static extern int lk_close(ulong l);
    [DllImport(Lib)] static extern int lk_valid(ulong l, byte[] reason);
    [DllImport(Lib)] static extern long lk_valid_until(ulong l);
    [DllImport(Lib)] static extern IntPtr lk_status(ulong l);
    [DllImport(Lib)] static extern int lk_has(ulong l, byte[] name);
    [DllImport(Lib)] static extern int lk_number(ulong l, byte[] name, out double value);
    [DllImport(Lib)] static extern IntPtr lk_text(ulong l, byte[] name);
    [DllImport(Lib)] static extern ulong lk_wait(ulong l, ulong seen, int ms);
    [DllImport(Lib)] static extern int lk_set_key(ulong l, byte[] key, int ms, byte[] reason);
    [DllImport(Lib)] static extern int lk_take_over(ulong l, int ms, byte[] reason);
    [DllImport(Lib)] static extern int lk_release(ulong l, int ms, byte[] reason);
    [DllImport(Lib)] static extern int lk_refresh(ulong l, int ms, byte[] reason);
    [DllImport(Lib)] static extern IntPtr lk_link(ulong l, int ms, byte[] reason);
    [DllImport(Lib)] static extern int lk_link_wait(ulong l, int ms, byte[] reason);
    [DllImport(Lib)] static extern IntPtr lk_devices(ulong l, int ms, byte[] reason);
    [DllImport(Lib)] static extern int lk_free_device(ulong l, byte[] id, int ms, byte[] reason);
    [DllImport(Lib)] static extern IntPtr lk_request(ulong l, byte[] reason);
    [DllImport(Lib)] static extern int lk_install(ulong l, byte[] text, byte[] reason);
    [DllImport(Lib)] static extern int lk_use(ulong l, byte[] meter, long n, int ms, byte[] reason);
    [DllImport(Lib)] static extern int lk_count(ulong l, byte[] meter, long n);
    [DllImport(Lib)] static extern IntPtr lk_verify(byte[] keys, byte[] file, byte[] expect, byte[] reason);
    [DllImport(Lib)] static extern void lk_free(IntPtr text);

    readonly ulong handle;

    /// <summary>Takes the options of lk_open in JSON.</summary>
    public License(string options) : this(Call(r => lk_open(Utf8(options), r))) { }
    License(ulong h) { handle = h; }
    public static License Fixed(string status) { return new License(Call(r => lk_fixed(Utf8(status), r))); }
    public static string Version { get { return Read(lk_version()); } }

    /// <summary>Returns the claims of a license file as JSON.</summary>
    public static string Verify(string keys, string file, string expect) {
        return Take(Call(r => lk_verify(Utf8(keys), Utf8(file), Utf8(expect), r)));
    }

    public Check Check() {
        var reason = new byte[Size];
        bool valid = lk_valid(handle, reason) != 0;
        return new Check { Valid = valid, Code = Part(reason, 0, CodeSize), Message = Part(reason, CodeSize, Size) };
    }
    public bool Valid { get { return lk_valid(handle, null) != 0; } }
    public string Message { get { return Check().Message; } } // for the user
    public DateTimeOffset ValidUntil { get { return DateTimeOffset.FromUnixTimeSeconds(lk_valid_until(handle)); } }
    public string Status { get { return Take(lk_status(handle)); } } // JSON
    public bool Has(string entitlement) { return lk_has(handle, Utf8(entitlement)) != 0; }
    public double? Number(string entitlement) { double v; return lk_number(handle, Utf8(entitlement), out v) != 0 ? v : (double?)null; }
    public string Text(string entitlement) { return Take(lk_text(handle, Utf8(entitlement))); }

    public void SetKey(string key, int ms = 0) { Call(r => lk_set_key(handle, Utf8(key), ms, r)); }
    public void TakeOver(int ms = 0) { Call(r => lk_take_over(handle, ms, r)); }
    public void Release(int ms = 0) { Call(r => lk_release(handle, ms, r)); }
    public void Refresh(int ms = 0) { Call(r => lk_refresh(handle, ms, r)); }
    public string Link(int ms = 0) { return Take(Call(r => lk_link(handle, ms, r))); } // JSON
    public Task LinkWait(int ms = 600000) { return Task.Run(() => { Call(r => lk_link_wait(handle, ms, r)); }); }
    public string Devices(int ms = 0) { return Take(Call(r => lk_devices(handle, ms, r))); } // JSON
    public void FreeDevice(string id, int ms = 0) { Call(r => lk_free_device(handle, Utf8(id), ms, r)); }
    public string Request() { return Take(Call(r => lk_request(handle, r))); }
    public void Install(string text) { Call(r => lk_install(handle, Utf8(text), r)); }
    public void Use(string meter, long n = 1, int ms = 0) { Call(r => lk_use(handle, Utf8(meter), n, ms, r)); }
    public bool Count(string meter, long n = 1) { return lk_count(handle, Utf8(meter), n) != 0; }

    /// <summary>Calls an action on a thread of its own after each change, until Close.</summary>
    public void OnChange(Action call) {
        new Thread(() => {
            for (ulong seen = lk_wait(handle, 0, 0); seen != 0;)
                if ((seen = lk_wait(handle, seen, -1)) != 0) call();
        }) { IsBackground = true }.Start();
    }
    public bool Close() { return lk_close(handle) != 0; }
    public void Dispose() { Close(); }

    static int Call(Func<byte[], int> f) { var r = new byte[Size]; int v = f(r); if (v == 0) throw Why(r); return v; }
    static ulong Call(Func<byte[], ulong> f) { var r = new byte[Size]; ulong v = f(r); if (v == 0) throw Why(r); return v; }
    static IntPtr Call(Func<byte[], IntPtr> f) { var r = new byte[Size]; IntPtr v = f(r); if (v == IntPtr.Zero) throw Why(r); return v; }
    static LicenseException Why(byte[] r) { return new LicenseException(Part(r, 0, CodeSize), Part(r, CodeSize, Size)); }
    static byte[] Utf8(string s) { return s == null ? null : Encoding.UTF8.GetBytes(s + "\0"); }
    static string Part(byte[] b, int from, int to) {
        int end = Array.IndexOf(b, (byte)0, from, to - from);
        return Encoding.UTF8.GetString(b, from, (end < 0 ? to : end) - from);
    }
    static string Read(IntPtr p) {
        if (p == IntPtr.Zero) return null;
        int n = 0;
        while (Marshal.ReadByte(p, n) != 0) n++;
        var b = new byte[n];
        Marshal.Copy(p, b, 0, n);
        return Encoding.UTF8.GetString(b);
    }
    static string Take(IntPtr p) { try { return Read(p); } finally { lk_free(p); } }
}

}
