package store

// Store is the database and its blobs. It is safe for concurrent use. Its
// methods are sorted by what they are about, into parts that share one core.
type Store struct {
	*core
	AccountStore
	KeyStore
	CallStore
	IdempotencyStore
	JobStore
	QueueStore
	FileStore
	EventStore
	WebhookStore
	DeliveryStore
	LedgerStore
	PaymentStore
	ReloadStore
	LeaseStore
	TemplateStore
	QuoteStore
	TaskStore
	UpkeepStore
	ArchiveStore
}

// The parts of the store.
type (
	// AccountStore keeps accounts and their limits.
	AccountStore struct{ *core }
	// KeyStore keeps API keys.
	KeyStore struct{ *core }
	// CallStore begins and ends paid calls.
	CallStore struct{ *core }
	// IdempotencyStore knows whose an idempotency key is.
	IdempotencyStore struct{ *core }
	// JobStore keeps calls that run later.
	JobStore struct{ *core }
	// QueueStore decides which job is next, and wakes who runs it.
	QueueStore struct{ *core }
	// FileStore keeps results and uploads.
	FileStore struct{ *core }
	// EventStore writes what is told, and to whom.
	EventStore struct{ *core }
	// WebhookStore keeps endpoints.
	WebhookStore struct{ *core }
	// DeliveryStore keeps the outbox and its attempts.
	DeliveryStore struct{ *core }
	// LedgerStore keeps the journal, its months, and usage.
	LedgerStore struct{ *core }
	// PaymentStore keeps payments, and who pays them.
	PaymentStore struct{ *core }
	// ReloadStore keeps how wallets refill themselves.
	ReloadStore struct{ *core }
	// LeaseStore keeps the processes' signs of life.
	LeaseStore struct{ *core }
	// TemplateStore keeps templates, their versions and partials.
	TemplateStore struct{ *core }
	// QuoteStore keeps promised prices, and counts failed generations.
	QuoteStore struct{ *core }
	// TaskStore does periodic work.
	TaskStore struct{ *core }
	// UpkeepStore does the periodic work that is the store's own.
	UpkeepStore struct{ *core }
	// ArchiveStore brings old months into files.
	ArchiveStore struct{ *core }
)

// parts are how they call each other.
type parts struct {
	accounts   AccountStore
	keys       KeyStore
	calls      CallStore
	claims     IdempotencyStore
	jobs       JobStore
	queue      QueueStore
	files      FileStore
	events     EventStore
	webhooks   WebhookStore
	deliveries DeliveryStore
	ledger     LedgerStore
	payments   PaymentStore
	reloads    ReloadStore
	leases     LeaseStore
	templates  TemplateStore
	quotes     QuoteStore
	tasks      TaskStore
	upkeep     UpkeepStore
	archive    ArchiveStore
}

// assemble makes the parts of a core and the store of them.
func (s *core) assemble() *Store {
	s.parts = parts{
		accounts:   AccountStore{s},
		keys:       KeyStore{s},
		calls:      CallStore{s},
		claims:     IdempotencyStore{s},
		jobs:       JobStore{s},
		queue:      QueueStore{s},
		files:      FileStore{s},
		events:     EventStore{s},
		webhooks:   WebhookStore{s},
		deliveries: DeliveryStore{s},
		ledger:     LedgerStore{s},
		payments:   PaymentStore{s},
		reloads:    ReloadStore{s},
		leases:     LeaseStore{s},
		templates:  TemplateStore{s},
		quotes:     QuoteStore{s},
		tasks:      TaskStore{s},
		upkeep:     UpkeepStore{s},
		archive:    ArchiveStore{s},
	}
	return &Store{
		core:             s,
		AccountStore:     s.accounts,
		KeyStore:         s.keys,
		CallStore:        s.calls,
		IdempotencyStore: s.claims,
		JobStore:         s.jobs,
		QueueStore:       s.queue,
		FileStore:        s.files,
		EventStore:       s.events,
		WebhookStore:     s.webhooks,
		DeliveryStore:    s.deliveries,
		LedgerStore:      s.ledger,
		PaymentStore:     s.payments,
		ReloadStore:      s.reloads,
		LeaseStore:       s.leases,
		TemplateStore:    s.templates,
		QuoteStore:       s.quotes,
		TaskStore:        s.tasks,
		UpkeepStore:      s.upkeep,
		ArchiveStore:     s.archive,
	}
}
