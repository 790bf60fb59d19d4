package barcode

import mathbits "math/bits"

// penalty rates how hard a symbol is to read (ISO/IEC 18004, clause 7.8.3): long runs, blocks, patterns like a
// finder, and too much of one colour.
func penalty(g *grid) int {
	var rows, columns plane
	for y := range g.size {
		for x, dark := range g.row(y) {
			bit := uint64(0)
			if dark {
				bit = 1
			}
			rows[x/64][y] |= bit << (x % 64)
			columns[y/64][x] |= bit << (y % 64)
		}
	}

	points := 0
	dark := 0
	for word, left := 0, g.size; left > 0; word, left = word+1, left-64 {
		part := rows[word][:g.size]
		for _, modules := range part {
			dark += mathbits.OnesCount64(modules)
		}
		points += runPenalty(part, first(left)) + runPenalty(columns[word][:g.size], first(left))
		points += blockPenalty(part, rows[word+1][:g.size], first(left-1))
	}
	return points + balancePenalty(dark, g.size*g.size)
}

// plane holds the lines of a symbol, which has at most 177, in words of 64 modules: module x of line y is bit x%64 of
// plane[x/64][y]. The last words are empty, so that each word has one to its right.
type plane [4][177]uint64

// first returns a word whose first n bits are set: all of them from 64 on.
func first(n int) uint64 { return 1<<n - 1 }

// runPenalty rates the modules at the same place of successive lines, at each place in the mask: 3 points for a run of
// five modules and 1 for each module more, and 40 for 1:1:3:1:1 with four light modules before or after it.
func runPenalty(lines []uint64, mask uint64) (points int) {
	fives := uint64(0) // where five modules before this one are a run

	for i := range len(lines) - 4 {
		l := lines[i:]
		dark := l[0] & l[1] & l[2] & l[3] & l[4]
		some := l[0] | l[1] | l[2] | l[3] | l[4]
		run := (dark | ^some) & mask
		points += mathbits.OnesCount64(run) + 2*mathbits.OnesCount64(run&^fives)
		fives = run

		if len(l) < 11 {
			continue
		}
		points += 40 * mathbits.OnesCount64(finders(l)&^(l[7]|l[8]|l[9]|l[10])&mask)
		points += 40 * mathbits.OnesCount64(finders(l[4:])&^(l[0]|l[1]|l[2]|l[3])&mask)
	}
	return points
}

// finders returns where 1:1:3:1:1 begins.
func finders(l []uint64) uint64 {
	return l[0] & l[2] & l[3] & l[4] & l[6] &^ (l[1] | l[5])
}

// blockPenalty is 3 points for each block of 2 × 2 modules of one colour. Next are the words to the right of words.
func blockPenalty(words, next []uint64, mask uint64) (points int) {
	for y := range len(words) - 1 {
		upper, lower := words[y], words[y+1]
		right, below := upper>>1|next[y]<<63, lower>>1|next[y+1]<<63
		points += 3 * mathbits.OnesCount64((upper&lower&right&below|^(upper|lower|right|below))&mask)
	}
	return points
}

// balancePenalty is 10 points for each full 5 % away from half dark.
func balancePenalty(dark, all int) int {
	return abs(dark*20-all*10) / all * 10
}
