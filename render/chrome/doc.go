// Package chrome prints and photographs HTML documents and web pages with
// Chromium. It owns the browser process: it starts it, shares its slots fairly
// between tenants, replaces it before it grows too large and after it died,
// and keeps what one document did from reaching the next.
//
// The isolation boundary is the tenant: every tenant has a browser context of
// its own. Within a tenant the lane of a job (see Lane) decides how much is
// shared with the documents before it. All network traffic goes through the
// proxy given in Config, and the contexts that serve more than one document
// have no network at all.
package chrome
