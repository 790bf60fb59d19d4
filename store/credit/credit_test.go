package credit

import (
	"errors"
	"math"
	"testing"
)

func TestParseDollars(t *testing.T) {
	for in, want := range map[string]Amount{
		"5": 5_000_000, "0.25": 250_000, "$12.50": 12_500_000, ".5": 500_000, "0.000001": 1, "3.": 3_000_000, " 1 ": 1_000_000,
	} {
		if got, err := ParseDollars(in); err != nil || got != want {
			t.Errorf("ParseDollars(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", "$", "-1", "+1", "1e3", "1,000", "0.0000001", "five", "99999999999999", "1 2"} {
		if got, err := ParseDollars(in); err == nil {
			t.Errorf("ParseDollars(%q) = %d; want an error", in, got)
		}
	}
}

func TestString(t *testing.T) {
	for in, want := range map[Amount]string{
		0: "$0.00", 2_000: "$0.002", 5_000_000: "$5.00", -1_500_000: "-$1.50", 1: "$0.000001",
		math.MaxInt64: "$9223372036854.775807", math.MinInt64: "-$9223372036854.775808",
	} {
		if got := in.String(); got != want {
			t.Errorf("%d: got %s, want %s", int64(in), got, want)
		}
	}
}

func TestMillicentsRoundDown(t *testing.T) {
	for in, want := range map[Amount]int64{5_000_000: 5000, 1_999: 1, 999: 0, -1: -1, -1_000: -1, -1_001: -2} {
		if got := in.Millicents(); got != want {
			t.Errorf("Amount(%d).Millicents() = %d, want %d", in, got, want)
		}
	}
}

func TestArithmeticRefusesOverflow(t *testing.T) {
	if _, err := Amount(math.MaxInt64).Add(1); !errors.Is(err, ErrOverflow) {
		t.Errorf("MaxInt64+1: %v", err)
	}
	if _, err := Amount(math.MinInt64).Sub(1); !errors.Is(err, ErrOverflow) {
		t.Errorf("MinInt64-1: %v", err)
	}
	if _, err := Amount(0).Sub(math.MinInt64); !errors.Is(err, ErrOverflow) {
		t.Errorf("0-MinInt64: %v", err)
	}
	if got, err := Amount(7).Sub(9); err != nil || got != -2 {
		t.Errorf("7-9 = %d, %v", got, err)
	}
}
