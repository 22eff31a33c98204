// Package chromium finds or fetches the browser for tests of pages. It installs Debian's headless
// Chromium with its libraries and a font into the user's cache folder, without root.
package chromium
