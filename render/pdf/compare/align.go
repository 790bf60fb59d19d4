package compare

const (
	// identicalPages is the similarity of pages with the same image: a match of them counts more than a few of similar
	// pages.
	identicalPages = 2
	// minSimilarity is the similarity below which pages are not matched.
	minSimilarity = 0.3
)

// alignPages matches the pages of two documents in order, so that the sum of similarities is the highest. Pages without
// a match between two matches are replaced pages as far as both documents have some; the others are removed or added.
func alignPages(old, latest []fingerprint) (pairs []pagePair) {
	start := 0
	for start < min(len(old), len(latest)) && old[start].image == latest[start].image {
		start++
		pairs = append(pairs, pagePair{start, start})
	}

	end := 0
	for end < min(len(old), len(latest))-start && old[len(old)-1-end].image == latest[len(latest)-1-end].image {
		end++
	}

	matched := matchPages(old[start:len(old)-end], latest[start:len(latest)-end])
	matched = append(matched, pagePair{len(old) - end - start + 1, len(latest) - end - start + 1})

	last := pagePair{}
	for _, m := range matched {
		i := last.old + 1
		j := last.new + 1
		for ; i < m.old && j < m.new; i, j = i+1, j+1 {
			pairs = append(pairs, pagePair{start + i, start + j})
		}
		for ; i < m.old; i++ {
			pairs = append(pairs, pagePair{old: start + i})
		}
		for ; j < m.new; j++ {
			pairs = append(pairs, pagePair{new: start + j})
		}

		if m != matched[len(matched)-1] {
			pairs = append(pairs, pagePair{start + m.old, start + m.new})
		}
		last = m
	}

	for i := range end {
		pairs = append(pairs, pagePair{len(old) - end + 1 + i, len(latest) - end + 1 + i})
	}
	return pairs
}

// matchPages returns the best matches in order, with numbers from 1.
func matchPages(old, latest []fingerprint) []pagePair {
	matches := align(len(old), len(latest), func(i, j int) float32 {
		return old[i].similarity(&latest[j]) - minSimilarity
	})
	for i := range matches {
		matches[i].old++
		matches[i].new++
	}
	return matches
}

// align returns the indices of the items of two lists that match in order with the highest sum of gains. Items without
// a gain do not match.
func align(old, latest int, gain func(i, j int) float32) (matches []pagePair) {
	width := latest + 1
	best := make([]float32, (old+1)*width)
	for i := old - 1; i >= 0; i-- {
		for j := latest - 1; j >= 0; j-- {
			at := i*width + j
			best[at] = max(best[at+width], best[at+1], gain(i, j)+best[at+width+1])
		}
	}

	for i, j := 0, 0; i < old && j < latest; {
		at := i*width + j
		switch gained := gain(i, j); best[at] {
		case gained + best[at+width+1]:
			if gained > 0 {
				matches = append(matches, pagePair{i, j})
			}
			i, j = i+1, j+1
		case best[at+width]:
			i++
		default:
			j++
		}
	}

	return matches
}

// similarity returns the similarity of two pages: from 0 to 1, and identicalPages for those with the same image.
func (p *fingerprint) similarity(q *fingerprint) float32 {
	if p.image == q.image {
		return identicalPages
	}

	var less, more int
	for i := range p.ink {
		less += int(min(p.ink[i], q.ink[i]))
		more += int(max(p.ink[i], q.ink[i]))
	}

	look := float32(1)
	if more > 0 {
		look = float32(less) / float32(more)
	}
	if len(p.words) == 0 && len(q.words) == 0 {
		return look
	}

	const ofWords = 0.6
	return ofWords*commonWords(p.words, q.words) + (1-ofWords)*look
}

// commonWords returns the share of words that two sorted lists have in common.
func commonWords(a, b []uint32) float32 {
	common := 0
	all := len(a) + len(b)

	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			common++
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}

	return 2 * float32(common) / float32(max(1, all))
}
