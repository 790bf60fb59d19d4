package officefile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/xuri/excelize/v2"
)

// encryptedPackage is the name of the stream of a compound file with an encrypted document of Office Open XML: its size
// in 8 bytes, and its content.
const encryptedPackage = "EncryptedPackage"

// excelPassword is the password of documents that Excel opens without asking for one: it encrypts those whose structure
// is protected.
const excelPassword = "VelvetSweatshop"

// errUnopened means that the password does not open a document, or that its encryption is another one than those below.
var errUnopened = errors.New("officefile: document cannot be decrypted")

// Decrypt replaces an encrypted document by its content. False means that it is not encrypted. An error means that it
// stays as it is, except ErrCostly: no program should open it.
func Decrypt(path, password string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}

	start := make([]byte, len(zipMagic))
	_, err = io.ReadFull(file, start)
	if err := errors.Join(err, file.Close()); err != nil {
		return false, err
	}
	if string(start) == zipMagic {
		return decryptODF(path, password)
	}

	opened, err := decryptCompound(path, password)
	if errors.Is(err, errUnopened) && password != excelPassword {
		if opened, second := decryptCompound(path, excelPassword); second == nil {
			return opened, nil
		}
	}
	return opened, err
}

// zipMagic is the beginning of a ZIP archive.
const zipMagic = "PK\x03\x04"

func decryptCompound(path, password string) (opened bool, err error) {
	c, err := openCompound(path, os.O_RDWR)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()

	switch {
	case c.streams[encryptedPackage] != nil:
		return c.decryptOOXML(path, password)
	case c.streams[xlsStream] != nil:
		return c.decryptXLS(password)
	case c.streams[docStream] != nil:
		return c.decryptDOC(password)
	}

	return false, nil
}

func (c *compound) decryptOOXML(path, password string) (bool, error) {
	const header = 8
	size := make([]byte, header)
	if _, err := c.streams[encryptedPackage].ReadAt(size, 0); err != nil {
		return false, err
	}

	content, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	content, err = excelize.Decrypt(content, &excelize.Options{Password: password})
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUnopened, err)
	}

	// The last block is filled up.
	content = content[:min(uint64(len(content)), binary.LittleEndian.Uint64(size))]
	if _, err := zip.NewReader(bytes.NewReader(content), int64(len(content))); err != nil {
		return false, fmt.Errorf("%w: another password", errUnopened)
	}
	return true, os.WriteFile(path, content, 0o600)
}
