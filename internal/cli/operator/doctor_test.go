package operator

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestDoctorAnnouncesOldMonths: months that the retention is about to remove are listed, as
// a warning where they are several or something keeps them.
func TestDoctorAnnouncesOldMonths(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	db := storetest.BarePostgres(t)
	if _, err := db.OpenAs(t, store.Config{Now: clock.Now}).CreateAccount(t.Context(), "ada@example.com", credit.Dollar); err != nil {
		t.Fatal(err)
	}
	clock.Advance(75 * 24 * time.Hour) // 3 February
	for _, tt := range []struct {
		months  int
		close   bool
		Verdict Verdict
		message string
	}{
		{0, false, good, "calls, deliveries and events of all months stay"},
		{3, false, good, "months retained before this one: 3; older months stored: 0"},
		{2, false, warn, "months retained before this one: 2; older months stored: 1; 2026-11 is retained because its books are not closed"},
		{2, true, good, "months retained before this one: 2; older months stored: 1; 2026-11 is removed in 7 days"},
		{1, true, warn, "months retained before this one: 1; older months stored: 2; 2026-11 is removed in 7 days; 2026-12 is removed in 7 days"},
	} {
		s := db.OpenAs(t, store.Config{Now: clock.Now, RetentionMonths: tt.months})
		if tt.close {
			if err := s.CloseMonths(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		f := checkRetention(t.Context(), s)
		if f.Verdict != tt.Verdict || f.Message != tt.message || (f.Remedy == "") != (tt.Verdict == good) {
			t.Errorf("%d months: got %+v, want %s: %s", tt.months, f, tt.Verdict, tt.message)
		}
	}
}

// inwardNames leads every name to one address.
type inwardNames string

func (n inwardNames) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(string(n))}, nil
}

func TestDoctorKnowsTheOwnAddress(t *testing.T) {
	for _, tt := range []struct {
		name, baseURL, leadsTo, header string
		Verdict                        Verdict
		says                           string
	}{
		{name: "not public", baseURL: "http://localhost:8787", leadsTo: "9.9.9.9", Verdict: good, says: "not public"},
		{name: "of an interface", baseURL: "https://docs.example", leadsTo: "8.8.4.4", Verdict: good, says: "cannot reach docs.example"},
		{name: "private", baseURL: "https://docs.example", leadsTo: "10.0.0.9", Verdict: good, says: "cannot reach docs.example"},
		{name: "behind NAT", baseURL: "https://docs.example", leadsTo: "9.9.9.9", Verdict: warn, says: "docs.example leads to 9.9.9.9"},
		{name: "behind a proxy", baseURL: "https://docs.example", leadsTo: "9.9.9.9", header: "Fly-Client-IP", Verdict: good, says: "the proxy at 9.9.9.9"},
	} {
		config := app.Config{BaseURL: tt.baseURL, TrustedIPHeader: tt.header}
		interfaces := func() ([]net.Addr, error) {
			return []net.Addr{&net.IPNet{IP: net.IPv4(8, 8, 4, 4), Mask: net.CIDRMask(24, 32)}}, nil
		}
		found := ownAddress(t.Context(), config, egress.Config{Resolver: inwardNames(tt.leadsTo), Interfaces: interfaces})
		if len(found) != 1 || found[0].Verdict != tt.Verdict || !strings.Contains(found[0].Message, tt.says) {
			t.Errorf("%s: got %+v, want %s and %q", tt.name, found, tt.Verdict, tt.says)
		}
	}
}
