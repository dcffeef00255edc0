// Package dashboard tests the pages in a real browser: whether a person gets
// done what they came for, with and without JavaScript, under a mount several
// segments deep; whether axe-core finds fault with a page; and how the pages
// look, as screenshots in the folder that E2E_SCREENSHOTS names.
//
// The tests are skipped where there is no Chromium. axe-core comes from npm
// into a temporary folder, or from the file that E2E_AXE names.
package dashboard
