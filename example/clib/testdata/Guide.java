class Guide {
    static void show(String message) { System.out.println("show " + message); }
    static void offerExport() { System.out.println("export"); }

    public static void main(String[] args) {
        String options = args[0];
        try {
            // guide
            var lic = new LicenseKit(options); // throws a LicenseException if an option is wrong
            var state = lic.check();
            if (!state.valid) show(state.message);
            if (lic.has("export")) offerExport();
            // guide
            lic.close();
        } catch (LicenseKit.LicenseException e) {
            System.out.println("fail " + e.getMessage());
        }
    }
}
