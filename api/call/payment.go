package call

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"relaypdf/store"
	"relaypdf/store/credit"
)

// Payments is a provider of payments. Its methods are safe for concurrent use
// and return when ctx ends.
type Payments interface {
	// Name tells providers apart: within one, a reference names one payment.
	Name() string
	// Checkout makes a page on which a customer pays, and returns its address.
	// That the money has come is told to ReceivePayment.
	Checkout(ctx context.Context, c Checkout) (address string, err error)
	// Charge takes money from a saved method and returns what the provider
	// calls the payment. It charges once for each id, and answers a repetition
	// as before. A *DeclinedError is final; any other leaves open whether the
	// money was taken.
	Charge(ctx context.Context, c Charge) (reference string, err error)
}

// Checkout is a payment that a customer has asked to make.
type Checkout struct {
	AccountID, Email string
	Amount           credit.Amount
}

// Charge is a payment that a customer has agreed to before.
type Charge struct {
	ID        string // makes a repetition safe
	AccountID string
	Method    string // what the provider calls the saved method
	Amount    credit.Amount
}

// DeclinedError says that a charge was refused for good.
type DeclinedError struct {
	Reason string // for the customer: one sentence
}

func (e *DeclinedError) Error() string { return "payment declined: " + e.Reason }

const (
	// chargeTimeout is how long a provider may take. Whoever refills a wallet
	// is alone with it for longer.
	chargeTimeout = 30 * time.Second
	// noVerdict is what an account's owner is told of a provider's failure.
	noVerdict = "The provider of payments gave no answer; it will be asked again."
)

var errNoPayments = errors.New("no provider of payments is set up")

// Wallets are filled by their owners' payments.
type Wallets struct {
	store    *store.Store
	payments Payments
	log      *slog.Logger
	running  *sync.WaitGroup
	reached  func(step string)
}

// StartTopUp returns the address of a page on which the account's owner pays.
func (w *Wallets) StartTopUp(ctx context.Context, account store.Account, amount credit.Amount) (string, error) {
	if w.payments == nil {
		return "", errNoPayments
	}
	ctx, cancel := context.WithTimeout(ctx, chargeTimeout)
	defer cancel()
	return w.payments.Checkout(ctx, Checkout{AccountID: account.ID, Email: account.Email, Amount: amount})
}

// ReceivePayment credits a payment of which the provider has told, and which
// was proved to come from it. It reports whether it did: told again, it changes
// nothing.
func (w *Wallets) ReceivePayment(ctx context.Context, p store.Payment) (credited bool, err error) {
	if w.payments == nil {
		return false, errNoPayments
	}
	p.Provider = w.payments.Name()
	return w.store.TopUp(ctx, p)
}

// soon refills a caller's wallet, if that is what its owner wants and it is
// low, while the call goes on. What is missed here is seen by the reaper.
func (w *Wallets) soon(ctx context.Context, account store.Account) {
	if w.payments == nil || !account.AutoReload {
		return
	}
	ctx = context.WithoutCancel(ctx)
	w.running.Go(func() {
		if due, err := w.store.ReloadDue(ctx, account.ID); err != nil || !due {
			w.failed(ctx, err)
			return
		}
		w.refill(ctx, account.ID)
	})
}

// reloadRound bounds the wallets that one round of the reaper refills.
const reloadRound = 50

// refillDue refills wallets that are low, until the provider fails to answer:
// then the others would wait in vain.
func (w *Wallets) refillDue(ctx context.Context) error {
	if w.payments == nil {
		return nil
	}
	ids, err := w.store.DueReloads(ctx, reloadRound)
	for _, id := range ids {
		if !w.refill(ctx, id) {
			break
		}
	}
	return err
}

// refill makes one attempt to refill a wallet, unless another process does, and
// reports whether the provider of payments answered. The store keeps an attempt
// whose end is not known, so that it is repeated under its own id.
func (w *Wallets) refill(ctx context.Context, accountID string) (answered bool) {
	attempt, err := w.store.ClaimReload(ctx, accountID)
	if errors.Is(err, store.ErrNotFound) {
		return true
	}
	if err != nil {
		w.failed(ctx, err)
		return false
	}
	limited, cancel := context.WithTimeout(ctx, chargeTimeout)
	reference, err := w.payments.Charge(limited, Charge{ID: attempt.ID, AccountID: accountID, Method: attempt.Method, Amount: attempt.Amount})
	cancel()
	w.reached("charged")
	if err != nil && ctx.Err() != nil {
		return false // This process stops. Another goes on when the lease has ended.
	}
	err = w.end(context.WithoutCancel(ctx), attempt, reference, err)
	w.failed(ctx, err)
	return err == nil
}

// end writes down what came of an attempt. It returns what went wrong
// other than that the money was refused.
func (w *Wallets) end(ctx context.Context, attempt store.Reload, reference string, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, afterwardsTimeout)
	defer cancel()
	var declined *DeclinedError
	switch {
	case cause == nil:
		_, err := w.store.FinishReload(ctx, attempt, w.payments.Name(), reference)
		return err
	case errors.As(cause, &declined):
		return w.store.FailReload(ctx, attempt, store.ReloadFailure{Reason: declined.Reason, Final: true})
	}
	return errors.Join(cause, w.store.FailReload(ctx, attempt, store.ReloadFailure{Reason: noVerdict}))
}

func (w *Wallets) failed(ctx context.Context, err error) {
	if err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "wallet not refilled", slog.Any("error", err))
	}
}
