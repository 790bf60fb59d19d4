package barcode

// qrCheckWords is the number of check words in each block, by level and
// version less one (ISO/IEC 18004, table 9).
var qrCheckWords = [4][qrVersions]int{
	{7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30},
	{10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28},
	{13, 22, 18, 26, 18, 24, 18, 22, 20, 24, 28, 26, 24, 20, 30, 24, 28, 28, 26, 30, 28, 30, 30, 30, 30, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30},
	{17, 28, 22, 16, 22, 28, 26, 26, 24, 28, 24, 28, 22, 24, 24, 30, 28, 28, 26, 28, 30, 24, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30},
}

// qrBlocks is the number of blocks, by level and version less one (table 9).
var qrBlocks = [4][qrVersions]int{
	{1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 24, 25},
	{1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49},
	{1, 1, 2, 2, 4, 4, 6, 6, 8, 8, 8, 10, 12, 16, 12, 17, 16, 18, 21, 20, 23, 23, 25, 27, 29, 34, 34, 35, 38, 40, 43, 45, 48, 51, 53, 56, 59, 62, 65, 68},
	{1, 1, 2, 4, 4, 4, 5, 6, 8, 8, 11, 11, 16, 16, 18, 16, 19, 21, 25, 25, 25, 34, 30, 32, 35, 37, 40, 42, 45, 48, 51, 54, 57, 60, 63, 66, 70, 74, 77, 81},
}

// qrSize returns the modules on a side.
func qrSize(version int) int { return 17 + 4*version }

// qrDataWords returns the room for data, in code words.
func qrDataWords(version int, level qrLevel) int {
	return qrTotalWords(version) - qrCheckWords[level][version-1]*qrBlocks[level][version-1]
}

// qrTotalWords returns the code words of a version: the modules that no
// pattern takes, in eights.
func qrTotalWords(version int) int {
	size := qrSize(version)
	// Three finders with their separators, two copies of the format with the
	// dark module, two lines of timing between the finders.
	modules := size*size - 3*8*8 - 31 - 2*(size-16)
	if n := len(qrAlignment(version)); n > 0 {
		// All crossings but three hold a pattern of 25 modules; those on the
		// lines of timing share 5 with them.
		modules -= 25*(n*n-3) - 2*5*(n-2)
	}
	if version >= 7 {
		modules -= 2 * 18 // two copies of the version
	}

	return modules / 8
}

// qrAlignment returns the rows, which are the columns too, of the centres of
// the alignment patterns (annex E).
func qrAlignment(version int) []int {
	if version == 1 {
		return nil
	}

	n := version/7 + 2
	step := (version*4 + n*2 + 1) / (n*2 - 2) * 2
	if version == 32 {
		step = 26 // the one that the rule does not give
	}

	centres := make([]int, n)
	centres[0] = 6
	for i := n - 1; i >= 1; i-- {
		centres[i] = qrSize(version) - 7 - (n-1-i)*step
	}
	return centres
}
