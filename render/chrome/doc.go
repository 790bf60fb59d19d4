// Package chrome prints and photographs HTML documents and web pages with
// Chromium. It owns the browsers: it starts them, shares their slots fairly
// between accounts, replaces them before they grow too large and after they
// died, and keeps what one document did from reaching the next.
//
// The isolation boundary is the account: every account has a browser context of
// its own, and a browser to itself while it runs what could hurt others (see
// fleet). Within an account the lane of a job (see Lane) decides how much is
// shared with the documents before it. All network traffic goes through the
// proxy given in Config, and the contexts that serve more than one document
// have no network at all.
package chrome
