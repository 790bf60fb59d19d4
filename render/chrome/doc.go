// Package chrome prints and captures HTML documents and web pages with Chromium. It owns the browsers: it starts
// them, shares their slots fairly between accounts, replaces them when they grow too large or die, and isolates
// documents from each other.
//
// The isolation boundary is the account. Each account has its own browser context, and exclusive use of a browser
// while it runs documents that could hurt others (see browserPool). Within an account, the render mode of a job
// (see Lane) limits the state that it shares with earlier documents. All network traffic goes through the proxy in
// Config. Contexts that serve more than one document have no network.
package chrome
