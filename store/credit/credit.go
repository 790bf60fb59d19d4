// Package credit is the service's unit of money: whole microdollars, with
// arithmetic that cannot overflow silently.
package credit

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Amount is a sum of money in microdollars (1 USD = 1,000,000). It is signed:
// ledger entries are debits and credits of the same magnitude.
type Amount int64

// Units of an Amount.
const (
	Microdollar Amount = 1
	Millicent   Amount = 1_000
	Cent        Amount = 10_000
	Dollar      Amount = 1_000_000
)

// ErrOverflow means that a sum does not fit an Amount.
var ErrOverflow = errors.New("amount out of range")

// Add returns a+b, or ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) {
	sum := a + b
	if (b > 0 && sum < a) || (b < 0 && sum > a) {
		return 0, ErrOverflow
	}
	return sum, nil
}

// Sub returns a-b, or ErrOverflow.
func (a Amount) Sub(b Amount) (Amount, error) {
	if b == math.MinInt64 {
		return 0, ErrOverflow
	}
	return a.Add(-b)
}

// Millicents returns the amount in millicents (0.001 USD), rounded down, which
// is how the account snapshot states a balance.
func (a Amount) Millicents() int64 {
	q := a / Millicent
	if a%Millicent < 0 {
		q--
	}
	return int64(q)
}

// String formats the amount in dollars with as many decimals as it needs, two
// at least: "$5.00", "$0.0021", "-$1.50".
func (a Amount) String() string {
	sign := ""
	n := uint64(a)
	if a < 0 {
		sign = "-"
		n = uint64(-(a + 1)) + 1
	}

	frac := strings.TrimRight(fmt.Sprintf("%06d", n%1_000_000), "0")
	for len(frac) < 2 {
		frac += "0"
	}
	return fmt.Sprintf("%s$%d.%s", sign, n/1_000_000, frac)
}

// ParseDollars reads a decimal number of dollars such as "5", "0.25" or "$12.50".
// It refuses signs, exponents and more than six decimals.
func ParseDollars(s string) (Amount, error) {
	whole, frac, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "$"), ".")
	bad := fmt.Errorf("%q is not an amount in dollars: write it like 5 or 0.25, with at most six decimals", s)
	if whole+frac == "" || len(frac) > 6 {
		return 0, bad
	}

	var n Amount
	for _, c := range whole + frac + strings.Repeat("0", 6-len(frac)) {
		if c < '0' || c > '9' {
			return 0, bad
		}
		if n > (math.MaxInt64-9)/10 {
			return 0, ErrOverflow
		}
		n = n*10 + Amount(c-'0')
	}
	return n, nil
}
