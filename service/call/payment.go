package call

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/store"
)

// Payments refills wallets. Its methods are safe for concurrent use and return
// when ctx ends.
type Payments interface {
	// Reload refills an account's wallet if its owner wants that and the wallet is low.
	Reload(ctx context.Context, accountID string) error
}

// refillTimeout bounds refilling one wallet.
const refillTimeout = time.Minute

// reloader are refilled while calls go on.
type reloader struct {
	payments Payments
	log      *slog.Logger
	running  *sync.WaitGroup
}

// startReload refills a caller's wallet while the call continues. A background task finds wallets that were missed
// here.
func (w *reloader) startReload(ctx context.Context, account store.Account) {
	if w.payments == nil || !account.AutoReload {
		return
	}

	ctx = context.WithoutCancel(ctx)
	w.running.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, refillTimeout)
		defer cancel()
		if err := guard.Try(func() error { return w.payments.Reload(ctx, account.ID) }); err != nil {
			w.log.LogAttrs(ctx, slog.LevelError, "refill wallet failed", slog.String("account", account.ID),
				slog.Any("error", err))
		}
	})
}
