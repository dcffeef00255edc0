import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Scanner;
import java.util.regex.Pattern;

/**
 * What a user expects of a program's first window, in a terminal: whether it is licensed, how it
 * is activated, and on which devices. java Menu options.json: the file has the options of
 * lk_open; a real program has them in itself, and reads JSON with a library.
 */
class Menu {
    static final Scanner IN = new Scanner(System.in);

    static String ask(String prompt) {
        System.out.print(prompt + " ");
        System.out.flush();
        return IN.hasNextLine() ? IN.nextLine().trim() : "";
    }

    /** Returns a text of a JSON object. */
    static String member(String json, String name) {
        var found = Pattern.compile("\"" + name + "\":\"([^\"]*)").matcher(json);
        return found.find() ? found.group(1) : "";
    }

    static void inTheBrowser(LicenseKit lic) throws LicenseKit.LicenseException {
        String link = lic.link(0);
        System.out.println("Open " + member(link, "url") + " and compare the code: " + member(link, "code") + ". Waiting for the approval ...");
        lic.linkWait(600_000);
    }

    static void withAFile(LicenseKit lic) throws LicenseKit.LicenseException, IOException {
        System.out.println("Send this to the vendor: " + lic.request());
        lic.install(Files.readString(Path.of(ask("File that the vendor sent:"))));
    }

    static void devices(LicenseKit lic) throws LicenseKit.LicenseException {
        String[] found = lic.devices(0).split("(?=\\{\"object\":)");
        for (int i = 1; i < found.length; i++) {
            System.out.println(i + " " + member(found[i], "name") + (isOwn(found[i]) ? " (this device)" : ""));
        }
        String answer = ask("Free the seat of number (Enter: none):");
        int n = answer.matches("\\d{1,3}") ? Integer.parseInt(answer) : 0;
        if (n < 1 || n >= found.length) return;
        lic.freeDevice(member(found[n], "id"), 0);
        if (!isOwn(found[n])) lic.refresh(0); // takes the seat
    }

    static boolean isOwn(String device) { return device.contains("\"this\":true"); }

    public static void main(String[] args) throws Exception {
        try (var lic = new LicenseKit(Files.readString(Path.of(args[0])))) {
            for (String choice = " "; !choice.equals("0") && !choice.isEmpty(); ) {
                var state = lic.check();
                System.out.println((state.valid ? "\nLicensed. " : "\nNot licensed. ") + state.message);
                System.out.println("1 Activate in the browser\n2 Enter a license key\n3 Install a license file\n4 Check again\n5 Devices\n0 Quit");
                choice = ask("Choose:");
                try {
                    switch (choice) {
                    case "1": inTheBrowser(lic); break;
                    case "2": lic.setKey(ask("License key:"), 0); break;
                    case "3": withAFile(lic); break;
                    case "4": lic.refresh(0); break;
                    case "5": devices(lic); break;
                    }
                } catch (LicenseKit.LicenseException | IOException e) {
                    System.out.println("That had no effect: " + e.getMessage());
                }
            }
        }
    }
}
