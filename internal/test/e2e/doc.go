// Package e2e holds the end-to-end tests. They start the whole App, in this process or as processes of its own, with
// real browsers, LibreOffice, databases and Redis, and use it as customers, operators and attackers do.
package e2e
