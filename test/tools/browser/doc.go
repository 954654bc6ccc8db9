// Package browser tests the console in Debian's Chromium, on a cluster of three processes with
// real data: every page in light and dark, wide and narrow, and every action, also while the leader
// is killed. It fails on an error in the browser's console, a broken link, a finding of axe-core,
// and a request that leaves the machine.
//
// The package is a module of its own, so that the product's go.mod stays short. It needs Chromium
// at /usr/bin/chromium, and the path of axe.min.js of the npm package axe-core in AXE. Run it with
// make test-console, which gets axe-core.
package browser
