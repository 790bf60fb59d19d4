// Package plan divides a machine's memory and cores among the parts of the service, so that a small machine does
// less at once instead of being killed.
package plan

import "runtime"

const (
	mib = 1 << 20
	gib = 1 << 30
)

// Machine holds the resources to divide.
type Machine struct {
	Memory int64 // bytes
	Cores  int
}

// Plan holds the limits of each part. Sizes are in bytes. The limits of single processes add up to more than the
// machine has: two of them are rarely reached at once, and the processes end one by one if they are.
type Plan struct {
	Machine Machine

	// RenderSlots is the maximum number of documents that the browsers render at once.
	RenderSlots int
	// Browsers is the maximum number of browsers, each for one account at a time. WarmPages is the total number of
	// pages that they retain for accounts that may come again.
	Browsers, WarmPages int
	// BrowserMemory is the memory of all processes of one browser above which it is replaced. RendererMemory is the
	// memory of one renderer above which it is ended.
	BrowserMemory, RendererMemory int64
	// EngineSlots is the maximum number of concurrent jobs on files. EngineMemory limits each process of such a
	// job.
	EngineSlots  int
	EngineMemory int64
	// MarkupSlots is the maximum number of texts, such as Markdown, that become documents at once. MarkupMemory
	// limits each.
	MarkupSlots  int
	MarkupMemory int64
	// OfficeSlots is the number of LibreOffice processes. OfficeMemory limits each.
	OfficeSlots  int
	OfficeMemory int64
	// Background reports whether there is capacity for an additional browser and engine,
	// for unpaid work.
	Background bool
	// Decoding is the maximum memory for the bodies of all requests that are being read.
	Decoding int64
}

// Typical needs of one of each.
const (
	pageMemory     = 100 * mib // a warm page with its renderer
	browserBase    = gib       // of the machine's memory for each browser
	slotMemory     = 512 * mib // of the machine's memory for each render at once
	officeIdle     = 256 * mib // an idle LibreOffice process
	pagesPerSlot   = 8         // more warm pages would only be looked through
	spareBrowsers  = 2         // in addition to one for each render: one for a new account, and one that rests
	backgroundFrom = 3 * gib   // of the machine's memory; the background needs about 200 MB
	partOfPages    = 4         // a quarter of the memory is for warm pages,
	partOfEngines  = 2         // half for files while they are worked on,
	partOfOffices  = 8         // an eighth for idle LibreOffice processes,
	partOfBodies   = 16
)

// For returns the plan of a machine. Missing memory or cores are those of this machine.
func For(m Machine) Plan {
	if m.Memory <= 0 {
		m.Memory, _ = Memory()
	}
	if m.Cores <= 0 {
		m.Cores = runtime.NumCPU()
	}

	p := Plan{
		Machine:        m,
		RenderSlots:    clamp(int(m.Memory/slotMemory), 1, m.Cores),
		RendererMemory: clamp(m.Memory/4, 256*mib, 2*gib),
		EngineMemory:   clamp(m.Memory/4, 256*mib, gib),
		MarkupSlots:    clamp(m.Cores/2, 1, 4),
		MarkupMemory:   256 * mib,
		OfficeSlots:    clamp(int(m.Memory/partOfOffices/officeIdle), 1, m.Cores),
		OfficeMemory:   clamp(m.Memory/2, 768*mib, 1536*mib),
		Background:     m.Memory >= backgroundFrom,
		Decoding:       clamp(m.Memory/partOfBodies, 64*mib, gib),
	}

	p.WarmPages = clamp(int(m.Memory/partOfPages/pageMemory), 1, pagesPerSlot*p.RenderSlots)
	p.Browsers = clamp(int(m.Memory/browserBase), 1, p.RenderSlots+spareBrowsers)
	p.BrowserMemory = max(m.Memory/2/int64(min(p.Browsers, p.RenderSlots)), 512*mib)
	p.EngineSlots = clamp(int(m.Memory/partOfEngines/p.EngineMemory), 1, m.Cores)
	return p
}

// MaxCells returns the size of the largest page that fits in RendererMemory, as the number of cells of a table. A
// renderer has about 12 KiB for each cell when it prints (Chromium 156); the rest is a margin.
func (p Plan) MaxCells() int {
	const base, cell, round = 24 * mib, 16 << 10, 1000
	return int(max(p.RendererMemory-base, 0)/cell) / round * round
}

// clamp returns n, at least least and at most most; the lower bound wins.
func clamp[N int | int64](n, low, high N) N { return max(low, min(n, high)) }
