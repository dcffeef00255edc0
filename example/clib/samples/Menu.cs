// What a user expects of a program's first window, in a terminal: whether it is licensed, how it
// is activated, and on which devices. Menu.exe options.json: the file has the options of lk_open;
// a real program has them in itself, and reads JSON with a library.
using System;
using System.IO;
using System.Text;
using System.Text.RegularExpressions;
using LicenseKit;

static class Menu {
    static string Ask(string prompt) {
        Console.Write(prompt + " ");
        return (Console.ReadLine() ?? "").Trim();
    }

    // Returns a text of a JSON object.
    static string Member(string json, string name) { return Regex.Match(json, "\"" + name + "\":\"([^\"]*)").Groups[1].Value; }

    static void InTheBrowser(License lic) {
        string link = lic.Link();
        Console.WriteLine("Open {0} and compare the code: {1}. Waiting for the approval ...", Member(link, "url"), Member(link, "code"));
        lic.LinkWait().GetAwaiter().GetResult();
    }

    static void WithAFile(License lic) {
        Console.WriteLine("Send this to the vendor: " + lic.Request());
        lic.Install(File.ReadAllText(Ask("File that the vendor sent:")));
    }

    static void Devices(License lic) {
        string[] found = Regex.Split(lic.Devices(), "(?={\"object\":)");
        for (int i = 1; i < found.Length; i++)
            Console.WriteLine("{0} {1}{2}", i, Member(found[i], "name"), IsOwn(found[i]) ? " (this device)" : "");
        int n;
        if (!int.TryParse(Ask("Free the seat of number (Enter: none):"), out n) || n < 1 || n >= found.Length) return;
        lic.FreeDevice(Member(found[n], "id"));
        if (!IsOwn(found[n])) lic.Refresh(); // takes the seat
    }

    static bool IsOwn(string device) { return device.Contains("\"this\":true"); }

    static void Main(string[] args) {
        Console.OutputEncoding = Console.InputEncoding = new UTF8Encoding(false);
        using (var lic = new License(File.ReadAllText(args[0]))) {
            for (string choice = " "; choice != "0" && choice != "";) {
                var state = lic.Check();
                Console.WriteLine((state.Valid ? "\nLicensed. " : "\nNot licensed. ") + state.Message);
                Console.WriteLine("1 Activate in the browser\n2 Enter a license key\n3 Install a license file\n4 Check again\n5 Devices\n0 Quit");
                choice = Ask("Choose:");
                try {
                    switch (choice) {
                    case "1": InTheBrowser(lic); break;
                    case "2": lic.SetKey(Ask("License key:")); break;
                    case "3": WithAFile(lic); break;
                    case "4": lic.Refresh(); break;
                    case "5": Devices(lic); break;
                    }
                } catch (Exception e) when (e is LicenseException || e is IOException) {
                    Console.WriteLine("That had no effect: " + e.Message);
                }
            }
        }
    }
}
