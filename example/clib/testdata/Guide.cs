using System;
using LicenseKit;

static class Guide {
    static void Show(string message) { Console.WriteLine("show " + message); }
    static void OfferExport() { Console.WriteLine("export"); }

    static void Main(string[] args) {
        string options = args[0];
        try {
            // guide
            var lic = new License(options); // throws a LicenseException if an option is wrong
            var state = lic.Check();
            if (!state.Valid) Show(state.Message);
            if (lic.Has("export")) OfferExport();
            // guide
            lic.Close();
        } catch (LicenseException e) {
            Console.WriteLine("fail " + e.Message);
        }
    }
}
