// Package dashboard tests the pages in a real browser: complete workflows, with
// and without JavaScript, under a mount that is several segments deep; the
// accessibility of each page with axe-core; and screenshots of each page, in the
// folder that E2E_SCREENSHOTS names.
//
// The tests are skipped without Chromium. axe-core is installed from npm into a
// temporary folder, or read from the file that E2E_AXE names; without npm, a test
// named axe-core is skipped, which .ci/run reports as a failure.
package dashboard
