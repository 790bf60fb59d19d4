package officefile

import (
	"bytes"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// xlsPivots is the storage of a workbook with the streams of its pivot tables.
const xlsPivots = "_SX_DB_CUR/"

// The sizes of the parts of a stream that have a key each.
const (
	xlsBlock = 1024
	docBlock = 512
)

// decryptXLS decrypts the streams of a workbook of Excel 97 and later ([MS-XLS] 2.2.10).
func (c *compound) decryptXLS(password string) (bool, error) {
	stream, err := c.read(xlsStream)
	if err != nil {
		return false, err
	}

	at, info := filePass(stream)
	if info == nil {
		return false, nil
	}

	const kind, isRC4 = 2, 1
	if len(info) < kind || binary.LittleEndian.Uint16(info) != isRC4 {
		return false, fmt.Errorf("%w: obfuscated workbook", errUnopened)
	}
	keys, err := newRC4Keys(info[kind:], password)
	if err != nil {
		return false, err
	}

	if err := keys.openRecords(stream); err != nil {
		return false, err
	}
	binary.LittleEndian.PutUint16(stream[at:], biffNothing)
	if err := c.write(xlsStream, stream); err != nil {
		return false, err
	}

	for name := range c.streams {
		if !strings.HasPrefix(name, xlsPivots) {
			continue
		}
		pivot, err := c.read(name)
		if err == nil {
			err = keys.openRecords(pivot)
		}
		if err == nil {
			err = c.write(name, pivot)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// filePass returns the position and the content of the record that describes the encryption of a workbook, or nil.
func filePass(stream []byte) (at int, info []byte) {
	k := xlsKeeper{stream: stream}
	for at < len(stream) {
		id, content, next := k.record(at)
		switch id {
		case biffFilePass:
			return at, content
		case biffEOF:
			return 0, nil
		}
		at = next
	}
	return 0, nil
}

// biffPlain lists the records that are not encrypted.
var biffPlain = []int{
	biffBOF, biffFilePass, biffInterfaceHeader, biffUserExclusive, biffFileLock, biffRevisionInfo, biffRevisionHead,
}

const (
	biffInterfaceHeader = 0x00E1
	biffRevisionHead    = 0x0138
	biffUserExclusive   = 0x0194
	biffFileLock        = 0x0195
	biffRevisionInfo    = 0x0196
)

// openRecords decrypts the content of the records of a stream.
func (keys rc4Keys) openRecords(stream []byte) error {
	open, err := keys.open(stream, xlsBlock)
	if err != nil {
		return err
	}

	k := xlsKeeper{stream: stream}
	for at := 0; at < len(stream); {
		id, content, next := k.record(at)
		from := next - len(content)
		if id == biffBoundSheet {
			from = min(from+4, next) // The position of the sheet is not encrypted.
		}
		if !slices.Contains(biffPlain, id) {
			copy(stream[from:next], open[from:next])
		}
		at = next
	}
	return nil
}

// decryptDOC decrypts the streams of a document of Word 97 and later ([MS-DOC] 2.2.6).
func (c *compound) decryptDOC(password string) (bool, error) {
	const (
		header     = 68 // bytes that are not encrypted
		infoSize   = 0x0E
		obfuscated = 0x8000
	)
	document, err := c.read(docStream)
	if err != nil || len(document) < header {
		return false, errors.Join(errUnopened, err)
	}

	flags := binary.LittleEndian.Uint16(document[docFlags:])
	switch {
	case flags&docEncrypted == 0:
		return false, nil
	case flags&obfuscated != 0:
		return false, fmt.Errorf("%w: obfuscated document", errUnopened)
	}

	tablesName := docTablesName(flags)
	tables, err := c.read(tablesName)
	if err != nil {
		return false, err
	}
	keys, err := newRC4Keys(tables[:min(len(tables), int(binary.LittleEndian.Uint32(document[infoSize:])))], password)
	if err != nil {
		return false, err
	}

	for _, name := range []string{docStream, tablesName, "Data"} {
		if c.streams[name] == nil {
			continue
		}
		content, err := c.read(name)
		if err != nil {
			return false, err
		}
		open, err := keys.open(content, docBlock)
		if err != nil {
			return false, err
		}

		if name == docStream {
			copy(open, document[:header])
			binary.LittleEndian.PutUint16(open[docFlags:], flags&^docEncrypted)
			binary.LittleEndian.PutUint32(open[infoSize:], 0)
		}
		if err := c.write(name, open); err != nil {
			return false, err
		}
	}
	return true, nil
}

// rc4Keys returns the key of a block of a stream.
type rc4Keys func(block uint32) []byte

// newRC4Keys returns the keys of a document ([MS-OFFCRYPTO] 2.3.5 and 2.3.6). info is the description of its
// encryption, which begins with the version.
func newRC4Keys(info []byte, password string) (rc4Keys, error) {
	const version, salt = 4, 16
	if len(info) < version {
		return nil, errUnopened
	}
	major := binary.LittleEndian.Uint16(info)
	minor := binary.LittleEndian.Uint16(info[2:])
	info = info[version:]

	var wide []byte
	for _, unit := range utf16.Encode([]rune(password)) {
		wide = binary.LittleEndian.AppendUint16(wide, unit)
	}

	switch {
	case major == 1 && minor == 1 && len(info) >= salt:
		keys := md5Keys(wide, info[:salt])
		return keys, keys.verify(info[salt:], func(b []byte) []byte {
			sum := md5.Sum(b)
			return sum[:]
		})
	case major >= 2 && major <= 4 && minor == 2:
		return newSHA1Keys(wide, info)
	}
	return nil, fmt.Errorf("%w: version %d.%d", errUnopened, major, minor)
}

// md5Keys are keys of 128 bits, of which 40 are secret.
func md5Keys(password, salt []byte) rc4Keys {
	const secret, times = 5, 16
	first := md5.Sum(password)
	second := md5.Sum(bytes.Repeat(slices.Concat(first[:secret], salt), times))
	return func(block uint32) []byte {
		key := md5.Sum(binary.LittleEndian.AppendUint32(bytes.Clone(second[:secret]), block))
		return key[:]
	}
}

// newSHA1Keys returns keys whose size the document chooses.
func newSHA1Keys(password, info []byte) (rc4Keys, error) {
	const (
		start     = 8 // flags, and the size of the header
		algorithm = 8 // positions in the header
		keyBits   = 16
		header    = 32
		salt      = 16
		isRC4     = 0x6801
		shortest  = 40 // bits, which is also what none means
		longest   = 128
	)
	if len(info) < start {
		return nil, errUnopened
	}

	size := int(binary.LittleEndian.Uint32(info[4:]))
	info = info[start:]
	if size < header || len(info) < size+4+salt || binary.LittleEndian.Uint32(info[algorithm:]) != isRC4 {
		return nil, errUnopened
	}

	bits := binary.LittleEndian.Uint32(info[keyBits:])
	if bits == 0 {
		bits = shortest
	}
	if bits < shortest || bits > longest || bits%8 != 0 {
		return nil, errUnopened
	}

	verifier := info[size+4:]
	first := sha1.Sum(slices.Concat(verifier[:salt], password))
	keys := rc4Keys(func(block uint32) []byte {
		sum := sha1.Sum(binary.LittleEndian.AppendUint32(bytes.Clone(first[:]), block))
		key := bytes.Clone(sum[:bits/8])
		if bits == shortest {
			key = append(key, make([]byte, (longest-shortest)/8)...)
		}
		return key
	})

	verifier = verifier[salt:]
	if len(verifier) < 20 {
		return nil, errUnopened
	}
	// The size of the sum is between the two.
	return keys, keys.verify(slices.Concat(verifier[:16], verifier[20:]), func(b []byte) []byte {
		sum := sha1.Sum(b)
		return sum[:]
	})
}

// verify checks the password: the document has 16 bytes and their checksum, both encrypted.
func (keys rc4Keys) verify(sealed []byte, sum func([]byte) []byte) error {
	const size = 16
	want := len(sum(nil))
	if len(sealed) < size+want {
		return errUnopened
	}

	open, err := keys.open(sealed[:size+want], size+want)
	if err != nil {
		return err
	}
	if !bytes.Equal(sum(open[:size]), open[size:]) {
		return fmt.Errorf("%w: another password", errUnopened)
	}
	return nil
}

// open returns the decrypted content of a stream, whose blocks have a size.
func (keys rc4Keys) open(sealed []byte, size int) ([]byte, error) {
	open := make([]byte, len(sealed))
	for at, block := 0, uint32(0); at < len(sealed); at, block = at+size, block+1 {
		stream, err := rc4.NewCipher(keys(block))
		if err != nil {
			return nil, err
		}
		end := min(at+size, len(sealed))
		stream.XORKeyStream(open[at:end], sealed[at:end])
	}
	return open, nil
}
