// Package clients holds the clients in other languages than Go, and the tests
// that run them, and those that generators make, against the service.
package clients
