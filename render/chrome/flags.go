package chrome

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// commandLine returns Chromium's arguments, each with its reason. The sandbox is off only in a browser that is
// confined from outside.
func commandLine(cfg Config, profile string) []string {
	args := []string{
		"--headless",              // Only needed by full Chromium; the headless shell knows nothing else.
		"--remote-debugging-pipe", // No debugging port that a page or another program could reach.
		"--user-data-dir=" + profile,

		// Egress: everything, loopback included, through the filtering proxy,
		// and no UDP around it.
		"--proxy-server=" + cfg.Proxy,
		"--proxy-bypass-list=<-loopback>",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--disable-quic",

		// Full Chromium calls home without these.
		"--disable-background-networking",
		"--disable-component-update",
		"--disable-domain-reliability",
		"--disable-sync",
		"--disable-default-apps",
		"--disable-extensions",
		"--no-first-run",
		"--no-default-browser-check",
		"--no-pings",

		// A document cannot open further windows: they would outlive it.
		"--block-new-web-contents",
		"--deny-permission-prompts",
		"--disable-notifications",
		"--disable-speech-api",
		// A navigation leaves no frozen document behind that could come back.
		"--disable-back-forward-cache",
		// Accounts are separated by browser context, and contexts never share a
		// process. Inside one document a process per site would only split its
		// frames over several sessions, each of which would have to be watched.
		"--disable-site-isolation-trials",
		"--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,OptimizationHints",

		// No page is ever in the foreground, so none may be slowed down for it.
		"--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding",
		"--disable-hang-monitor", // Our own deadline ends a hanging page.

		// The same pixels and glyph positions on every machine.
		"--force-color-profile=srgb",
		"--font-render-hinting=none",
		"--hide-scrollbars",
		"--window-size=800,600",
		"--lang=en-US",

		// A script ends at this size of its heap, before its process does.
		"--js-flags=--max-old-space-size=" + strconv.FormatInt(cfg.RendererBytes*3/4>>20, 10),

		"--mute-audio",
		"--disable-breakpad", // Crash reports would write documents to disk.
		"--disable-crash-reporter",
		"--password-store=basic", // No keyring service is asked for.
	}

	if cfg.Confine != nil {
		// Its zygotes would insist on namespaces, or end the browser.
		args = append(args, "--no-sandbox", "--no-zygote")
	}
	if cfg.Confine != nil || smallSharedMemory() {
		// The temporary folder is its own, and /dev/shm is everybody's.
		// Containers have 64 MB of /dev/shm, on which large pages crash.
		args = append(args, "--disable-dev-shm-usage")
	}

	return slices.Clip(args)
}

// smallSharedMemory reports whether /dev/shm is missing or too small for the
// bitmaps that Chromium keeps there.
func smallSharedMemory() bool {
	const enough = 512 << 20
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil {
		return true
	}
	return st.Blocks*uint64(st.Bsize) < enough
}
